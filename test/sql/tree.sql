-- every row of a tree is there, in key order
SELECT count(*), min(id), max(id), first(id) FROM part
----
300|-450|447|-450

-- a key of a tree is looked up
SELECT * FROM part WHERE id = -450
----
-450|0.0|000

-- a key that is not in the tree gives no row
SELECT * FROM part WHERE id = -449
----

-- a key range of a tree includes its ends
SELECT id, price FROM part WHERE id BETWEEN -3 AND 6 ORDER BY id
----
-3|74.5
0|75.0
3|75.5
6|76.0

-- a row that was put again is the newer one
SELECT id, price FROM part WHERE id >= 441 ORDER BY id DESC
----
447|-1.0
444|149.0
441|148.5

-- a column of a tree that is no key is filtered
SELECT id FROM part WHERE price > 148.5 AND id < 447
----
444

-- a tree whose key is bytes is ordered as memcmp does
SELECT n FROM tag ORDER BY code
----
2
1
3

-- a tree whose key is bytes is looked up
SELECT n FROM tag WHERE code = '\xFF\x00'::BLOB
----
3

-- a tree is joined with a series
SELECT id, t FROM part JOIN temp ON t = id * 10 WHERE id > 100 AND id < 110
ORDER BY id
----
102|1020
105|1050
108|1080
