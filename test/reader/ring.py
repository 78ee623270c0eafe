# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
"""A region whose pages have positions: which of them count."""

from image import number, sealed_page, whole_page


def ring_pages(volume, table, role, kind, element_at=None, by_seal=None):
    """Valid pages from the tail to the head by position.

    element_at  bytes of an element of the page at a position, where seals may
                count them; None: pages are whole.
    by_seal     instead: what finds the part of a page that its seals count.
    """
    image, region = volume.image, table.regions.get(role)
    found = {}
    size = image.region_pages(region) if region else 0
    for at in range(size):
        data = image.region_page(region, at)
        page = whole_page(data, volume.checksum, table.seed)
        if page is None and by_seal:
            page = by_seal(data)
        elif page is None and element_at:
            element = element_at(number(data, 8, 4))
            page = sealed_page(
                data, volume.checksum, table.seed, image.erased, element
            )
        if page is None or (page.kind, page.table) != (kind, table.id):
            continue
        if page.sequence % size == at:
            found[page.sequence] = page
    if not found:
        return {}
    head = max(found) + 1
    block = image.block_pages
    oldest = (max(found) // block + 1) * block - size
    at_least = min(p for p in found if p >= oldest) // block * block
    return {p: found[p] for p in sorted(found) if at_least <= p < head}
