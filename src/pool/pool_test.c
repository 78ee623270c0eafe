// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "pool/pool_list.h"

#include "base/bytes.h"
#include "test/harness/esk_test.h"

enum { PAGE_BYTES = 64, FRAMES_MAX = 12, CLASSES_MAX = 4, PAGE_COUNT = 40 };

static uint32_t
    test_memory[ESK_POOL_BYTES(PAGE_BYTES, FRAMES_MAX, CLASSES_MAX) / 4 + 1];
static const uint16_t test_offsets[CLASSES_MAX + 1] = {0, 32, 48, 56, 64};
static struct esk_pool test_pool;
static int test_loads;
static int test_load_status;

/// Byte i of page `tag`; version counts the times it was written.
static uint8_t byte_of(uint32_t tag, uint16_t i) {
    return (uint8_t)(tag * 31u + i * 7u + 1u);
}

static void fill(uint8_t *page, uint32_t tag) {
    for (uint16_t i = 0; i < PAGE_BYTES; i++) {
        page[i] = byte_of(tag, i);
    }
}

static int load(void *context, uint32_t tag, uint8_t *page) {
    ESK_CHECK(context == &test_pool);
    test_loads++;
    fill(page, tag);
    return test_load_status;
}

static void start(uint8_t frames, uint8_t classes) {
    test_loads = 0;
    test_load_status = ESK_OK;
    if (classes == 1) {
        esk_pool_init(&test_pool, test_memory, PAGE_BYTES, frames);
    } else {
        esk_pool_init_classes(&test_pool, test_memory, PAGE_BYTES, frames,
                              classes, test_offsets);
    }
}

static int pin(uint32_t tag, uint8_t class_, uint8_t *frame) {
    uint8_t *page = NULL;
    int status =
        esk_pool_pin(&test_pool, tag, class_, load, &test_pool, &page, frame);
    if (status == ESK_OK) {
        uint16_t from = test_pool.classes == 1 ? 0 : test_offsets[class_];
        uint16_t to =
            test_pool.classes == 1 ? PAGE_BYTES : test_offsets[class_ + 1];
        ESK_CHECK(page == esk_pool_page(&test_pool, *frame));
        for (uint16_t i = from; i < to; i++) {
            ESK_CHECK_INT(page[i], byte_of(tag, i));
        }
    }
    return status;
}

/// Pins and unpins. Returns whether it was a hit.
static bool touch(uint32_t tag, uint8_t class_) {
    int before = test_loads;
    uint8_t frame;
    ESK_CHECK_INT(pin(tag, class_, &frame), ESK_OK);
    esk_pool_unpin(&test_pool, frame);
    return test_loads == before;
}

ESK_TEST(pool_with_one_class_drops_the_least_recently_used_page) {
    start(3, 1);
    ESK_CHECK(!touch(1, 0) && !touch(2, 0) && !touch(3, 0));
    ESK_CHECK(touch(1, 0));
    ESK_CHECK(!touch(4, 0)); /* evicts 2 */
    ESK_CHECK(touch(1, 0) && touch(3, 0) && touch(4, 0));
    ESK_CHECK(!touch(2, 0)); /* evicts 1 */
    ESK_CHECK(!touch(1, 0));
    ESK_CHECK_INT(test_pool.hits, 4);
    ESK_CHECK_INT(test_pool.misses, 6);
}

ESK_TEST(pool_keeps_a_pinned_frame_until_its_last_unpin) {
    uint8_t first;
    uint8_t again;
    uint8_t other;
    start(2, 1);
    ESK_CHECK_INT(pin(1, 0, &first), ESK_OK);
    ESK_CHECK_INT(pin(1, 0, &again), ESK_OK);
    ESK_CHECK_INT(first, again);
    touch(2, 0);
    touch(3, 0);
    touch(4, 0);
    ESK_CHECK(touch(1, 0));
    esk_pool_unpin(&test_pool, first);
    ESK_CHECK_INT(pin(5, 0, &other), ESK_OK);
    ESK_CHECK_INT(pin(6, 0, &again), ESK_E_NO_MEMORY);
    uint8_t *page;
    ESK_CHECK_INT(esk_pool_take(&test_pool, &page, &again), ESK_E_NO_MEMORY);
    esk_pool_unpin(&test_pool, first);
    ESK_CHECK_INT(pin(6, 0, &again), ESK_OK);
    ESK_CHECK_INT(again, first);
}

ESK_TEST(pool_with_classes_has_no_frame_left_when_all_are_pinned) {
    uint8_t frame;
    start(2, 3);
    ESK_CHECK_INT(pin(1, 0, &frame), ESK_OK);
    ESK_CHECK_INT(pin(2, 1, &frame), ESK_OK);
    ESK_CHECK_INT(pin(3, 2, &frame), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(pin(3, 0, &frame), ESK_E_NO_MEMORY);
    esk_pool_unpin(&test_pool, frame);
}

ESK_TEST(pool_pins_the_frame_that_a_caller_remembers_if_it_has_the_page) {
    uint8_t *page = NULL;
    uint8_t frame;
    start(2, 1);
    ESK_CHECK_INT(pin(1, 0, &frame), ESK_OK);
    esk_pool_unpin(&test_pool, frame);
    touch(2, 0);
    ESK_CHECK(!esk_pool_pin_frame(&test_pool, 2, 1, &page));
    ESK_CHECK(!esk_pool_pin_frame(&test_pool, frame, 2, &page));
    ESK_CHECK(esk_pool_pin_frame(&test_pool, frame, 1, &page));
    ESK_CHECK(page == esk_pool_page(&test_pool, frame));
    ESK_CHECK_INT(test_pool.hits, 1);
    touch(3, 0); /* evicts 2, the older one that is not pinned */
    esk_pool_unpin(&test_pool, frame);
    ESK_CHECK(touch(1, 0) && !touch(2, 0));
}

ESK_TEST(pool_load_that_fails_leaves_the_frame_empty) {
    uint8_t frame;
    start(1, 1);
    touch(1, 0);
    test_load_status = ESK_E_CORRUPT;
    ESK_CHECK_INT(pin(2, 0, &frame), ESK_E_CORRUPT);
    test_load_status = ESK_OK;
    ESK_CHECK(!touch(2, 0));
    ESK_CHECK(!touch(1, 0));
}

ESK_TEST(pool_takes_a_frame_and_keeps_what_is_tagged) {
    uint8_t frame;
    uint8_t *page;
    for (uint8_t classes = 1; classes <= 3; classes++) {
        start(2, classes);
        ESK_CONTEXT("%u classes", classes);
        touch(7, 0);
        ESK_CHECK_INT(esk_pool_take(&test_pool, &page, &frame), ESK_OK);
        fill(page, 8);
        esk_pool_tag(&test_pool, frame, 8);
        esk_pool_tag(&test_pool, frame, 8); /* twice is the same */
        ESK_CHECK(touch(8, (uint8_t)(classes - 1)));
        esk_pool_give(&test_pool, frame);
        ESK_CHECK(touch(8, 0));
        ESK_CHECK(touch(7, 0));
        /* Written over an old copy: the old one is dropped. */
        ESK_CHECK_INT(esk_pool_take(&test_pool, &page, &frame), ESK_OK);
        fill(page, 7);
        esk_pool_tag(&test_pool, frame, 7);
        esk_pool_give(&test_pool, frame);
        ESK_CHECK(touch(7, 0));
        ESK_CHECK(!touch(8, 0));
    }
}

ESK_TEST(pool_gives_an_untagged_frame_back_empty) {
    uint8_t frame;
    uint8_t *page;
    start(2, 1);
    touch(1, 0);
    ESK_CHECK_INT(esk_pool_take(&test_pool, &page, &frame), ESK_OK);
    fill(page, 9);
    esk_pool_give(&test_pool, frame);
    ESK_CHECK(!touch(9, 0));
    ESK_CHECK(touch(1, 0));
}

ESK_TEST(pool_renames_a_page_but_for_its_forgotten_slots) {
    uint8_t frame;
    uint8_t *page;
    start(3, 3);
    touch(7, 2); /* earlier with this tag */
    ESK_CHECK_INT(esk_pool_take(&test_pool, &page, &frame), ESK_OK);
    fill(page, 7);
    esk_pool_tag(&test_pool, frame, 9);
    esk_pool_forget_slot(&test_pool, 9, 1);
    esk_pool_hold(&test_pool, frame);
    esk_pool_unpin(&test_pool, frame);
    esk_pool_rename(&test_pool, frame, 9, 7);
    esk_pool_give(&test_pool, frame);
    ESK_CHECK(touch(7, 0) && touch(7, 2));
    ESK_CHECK(!touch(7, 1));
}

ESK_TEST(pool_forgets_a_page_a_slot_or_all) {
    start(3, 3);
    touch(1, 2);
    touch(2, 2);
    esk_pool_forget(&test_pool, 1);
    esk_pool_forget(&test_pool, 33); /* unknown: nothing happens */
    ESK_CHECK(touch(2, 1) && touch(2, 0));
    ESK_CHECK(!touch(1, 2));
    esk_pool_forget_slot(&test_pool, 1, 1);
    ESK_CHECK(touch(1, 2) && touch(1, 0));
    ESK_CHECK(!touch(1, 1));
    esk_pool_forget_all(&test_pool);
    ESK_CHECK(!touch(2, 2));
}

ESK_TEST(pool_forgets_a_pinned_page_but_leaves_its_bytes) {
    uint8_t frame;
    start(2, 1);
    ESK_CHECK_INT(pin(1, 0, &frame), ESK_OK);
    esk_pool_forget(&test_pool, 1);
    touch(2, 0);
    touch(3, 0);
    ESK_CHECK_INT(esk_pool_page(&test_pool, frame)[5], byte_of(1, 5));
    esk_pool_unpin(&test_pool, frame);
    ESK_CHECK(!touch(1, 0));
}

/// Sets the tag of a slot directly: a state of the paper's figures.
static void place(uint8_t frame, uint8_t class_, uint32_t tag) {
    uint16_t slot = (uint16_t)(class_ * test_pool.frames + frame);
    uint8_t *page = esk_pool_page(&test_pool, frame);
    test_pool.tags[slot] = tag;
    for (uint16_t i = test_offsets[class_]; i < test_offsets[class_ + 1]; i++) {
        page[i] = byte_of(tag, i);
    }
}

static uint32_t tag_at(uint8_t frame, uint8_t class_) {
    return test_pool.tags[class_ * test_pool.frames + frame];
}

/// lrun-kmutree-2012, Fig. 3 to Fig. 5: leaves 3, 4, 5, 6 in four buffer
/// pages; level 2 holds 13 in page 3 and its victim is in page 5; level 3
/// holds 7, 9, 4, 6, its victim 6 in page 6. A new page comes in: page 3 is
/// the victim, node 13 moves to page 5 and node 7 to page 6.
ESK_TEST(pool_follows_the_example_of_the_lru_n_paper) {
    const uint32_t leaves[4] = {3, 4, 5, 6};
    const uint32_t level2[4] = {13, 11, 12, 6};
    const uint32_t level3[4] = {7, 9, 4, 6};
    const uint8_t order2[4] = {2, 0, 1, 3};
    const uint8_t order3[4] = {3, 1, 0, 2};
    start(4, 3);
    for (uint8_t i = 0; i < 4; i++) {
        place(i, 0, leaves[i]);
        place(i, 1, level2[i]);
        place(i, 2, level3[i]);
        esk_pool_order(&test_pool, 0)[i] = i;
        esk_pool_order(&test_pool, 1)[i] = order2[i];
        esk_pool_order(&test_pool, 2)[i] = order3[i];
    }
    ESK_CHECK(!touch(20, 2));
    ESK_CHECK_INT(tag_at(0, 0), 20);
    ESK_CHECK_INT(tag_at(0, 1), 20);
    ESK_CHECK_INT(tag_at(0, 2), 20);
    ESK_CHECK_INT(tag_at(2, 0), 5);
    ESK_CHECK_INT(tag_at(2, 1), 13); /* swizzled: page 5 holds node 13 */
    ESK_CHECK_INT(tag_at(3, 2), 7);
    ESK_CHECK_INT(tag_at(3, 1), 6);
    ESK_CHECK(touch(13, 1) && touch(7, 2) && touch(9, 2) && touch(11, 1));
    ESK_CHECK(touch(4, 2) && touch(4, 0) && touch(5, 0) && touch(6, 0));
    ESK_CHECK(touch(20, 0) && touch(20, 1) && touch(20, 2));
    ESK_CHECK(!touch(12, 1)); /* the nodes that made room */
    ESK_CHECK(!touch(3, 0));
}

ESK_TEST(pool_slots_above_the_class_asked_for_make_room) {
    /* Page 1 is needed only for its leaf: its level-2 slot stays empty and
       takes the next node that would have been lost. */
    start(2, 2);
    touch(10, 1);
    touch(1, 0);
    ESK_CHECK(touch(10, 1));
    ESK_CHECK(!touch(2, 0)); /* evicts frame of 10, node 10 moves */
    ESK_CHECK(touch(10, 1) && touch(1, 0) && touch(2, 0));
}

ESK_TEST(pool_does_not_hold_a_slot_twice_when_its_frame_is_pinned) {
    uint8_t frame;
    start(3, 2);
    touch(5, 1);
    touch(6, 0);
    ESK_CHECK_INT(pin(5, 0, &frame), ESK_OK);
    esk_pool_forget_slot(&test_pool, 5, 1);
    ESK_CHECK(!touch(5, 1)); /* loaded again beside its pinned leaf */
    int holders = 0;
    for (uint8_t i = 0; i < 3; i++) {
        holders += tag_at(i, 0) == 5;
    }
    ESK_CHECK_INT(holders, 1);
    ESK_CHECK_INT(tag_at(frame, 0), 5);
    esk_pool_unpin(&test_pool, frame);
    ESK_CHECK(touch(5, 0) && touch(5, 1));
}

/* A model of LRU-N: per class a list of (tag, frame), oldest first. */

struct model {
    uint32_t tag[CLASSES_MAX][FRAMES_MAX];
    uint8_t frame[CLASSES_MAX][FRAMES_MAX];
    uint8_t frames;
    uint8_t classes;
};

static void model_move(struct model *model, uint8_t class_, int from, int to) {
    uint32_t tag = model->tag[class_][from];
    uint8_t frame = model->frame[class_][from];
    int step = from < to ? 1 : -1;
    for (int i = from; i != to; i += step) {
        model->tag[class_][i] = model->tag[class_][i + step];
        model->frame[class_][i] = model->frame[class_][i + step];
    }
    model->tag[class_][to] = tag;
    model->frame[class_][to] = frame;
}

static int model_find(const struct model *model, uint8_t class_, uint32_t tag) {
    for (int i = 0; i < model->frames; i++) {
        if (model->tag[class_][i] == tag) {
            return i;
        }
    }
    return -1;
}

static bool model_touch(struct model *model, uint32_t tag, uint8_t class_) {
    int last = model->frames - 1;
    int at = model_find(model, class_, tag);
    if (at >= 0) {
        model_move(model, class_, at, last);
        return true;
    }
    for (uint8_t c = 0; c < class_; c++) {
        at = model_find(model, c, tag);
        if (at >= 0) {
            model->tag[c][at] = ESK_POOL_TAG_NONE;
            model_move(model, c, at, 0);
        }
    }
    uint8_t victim = model->frame[0][0];
    for (uint8_t c = 0; c < model->classes; c++) {
        int mine = 0;
        while (model->frame[c][mine] != victim) {
            mine++;
        }
        if (c > 0 && mine != 0 && model->tag[c][mine] != ESK_POOL_TAG_NONE) {
            /* The slot's bytes move to the oldest frame: swap the frames. */
            model->frame[c][mine] = model->frame[c][0];
            model->frame[c][0] = victim;
            mine = 0;
        }
        model->tag[c][mine] = c <= class_ ? tag : ESK_POOL_TAG_NONE;
        model_move(model, c, mine, c <= class_ ? last : 0);
    }
    return false;
}

ESK_TEST(pool_agrees_with_a_model_of_lru_n) {
    uint32_t seed = 1;
    for (uint8_t classes = 1; classes <= CLASSES_MAX; classes++) {
        for (uint8_t frames = 1; frames <= FRAMES_MAX; frames++) {
            struct model model;
            ESK_CONTEXT("%u frames, %u classes", frames, classes);
            start(frames, classes);
            model.frames = frames;
            model.classes = classes;
            for (uint8_t c = 0; c < classes; c++) {
                for (uint8_t f = 0; f < frames; f++) {
                    model.tag[c][f] = ESK_POOL_TAG_NONE;
                    model.frame[c][f] = f;
                }
            }
            for (int i = 0; i < 3000; i++) {
                seed = seed * 1664525u + 1013904223u;
                uint8_t class_ = (uint8_t)((seed >> 24) % classes);
                uint32_t tag = (seed >> 12) % (PAGE_COUNT >> class_) + 1;
                bool hit = model_touch(&model, tag, class_);
                ESK_CHECK_INT(touch(tag, class_), hit);
            }
            for (uint8_t c = 0; c < classes; c++) {
                for (uint8_t f = 0; f < frames; f++) {
                    ESK_CHECK_INT(esk_pool_order(&test_pool, c)[f],
                                  model.frame[c][f]);
                }
            }
        }
    }
}

/// A descent from level 2 to a leaf; leaves share parents, pages hold the
/// path that was last written, as in a mu-Tree.
ESK_TEST(pool_lru_n_loads_no_more_than_lru_p_on_descents) {
    for (uint8_t frames = 2; frames <= FRAMES_MAX; frames++) {
        int loads[2];
        for (uint8_t n = 0; n < 2; n++) {
            uint32_t seed = 5;
            start(frames, n == 0 ? 1 : 2);
            for (int i = 0; i < 20000; i++) {
                seed = seed * 1664525u + 1013904223u;
                uint32_t leaf = (seed >> 12) % 32;
                uint32_t parent = (leaf / 8) * 8; /* page of its last write */
                touch(parent, n);
                touch(leaf, 0);
            }
            loads[n] = test_loads;
        }
        ESK_CONTEXT("%u frames: LRU-N %d, LRU-P %d", frames, loads[1],
                    loads[0]);
        ESK_CHECK(loads[1] <= loads[0]);
    }
}

ESK_TEST_MAIN()
