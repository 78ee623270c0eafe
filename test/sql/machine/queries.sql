-- rows in key order, newest first
SELECT k FROM t ORDER BY k DESC LIMIT 3
----
1198
1193
1188

-- an offset
SELECT k FROM t ORDER BY k LIMIT 2 OFFSET 3
----
12
17

-- OR of key ranges is a union of seeks
SELECT k FROM t WHERE k IN (5, 12) OR k > 1190
----
5
12
1193
1198

-- a join by a key and a shift
SELECT x.k, y.k, y.a FROM t x JOIN u y ON y.k = x.k + 10 WHERE x.k < 100
----
0|10|-29
10|20|-26
60|70|19
70|80|34

-- a left join gives NULLs for rows without a partner
SELECT x.k, y.a FROM t x LEFT JOIN u y ON y.k = x.k WHERE x.k < 13
----
0|-30
5|NULL
10|-29
12|NULL

-- a condition of ON does not drop rows of a left join
SELECT x.k, y.a FROM t x LEFT JOIN u y ON y.k = x.k AND y.a > -30 WHERE x.k < 13
----
0|NULL
5|NULL
10|-29
12|NULL

-- a condition of WHERE does
SELECT x.k, y.a FROM t x LEFT JOIN u y ON y.k = x.k WHERE x.k < 13 AND y.a IS NULL
----
5|NULL
12|NULL

-- a table is joined with itself
SELECT x.k, y.k FROM t x JOIN t y ON y.k = x.k + 5 WHERE x.k < 30
----
0|5
5|10
12|17
17|22
24|29
29|34

-- a join by a value looks each row up
SELECT x.k, y.id FROM t x JOIN r y ON y.id = x.a WHERE x.k < 25
----
0|-20
10|-6
17|8

-- texts of a left join's right table are NULL where a row has no partner
SELECT x.id, x.s, y.n FROM r x LEFT JOIN t y ON y.a = x.v + 30 WHERE x.id < -50 AND (x.s <> y.n AND y.n LIKE 'n%' OR NOT y.n LIKE '%' OR length(y.n) IS NULL)
----
-60||north
-58|abc|NULL
-56|north|NULL
-54|a|NULL
-52|b|NULL

-- so are numbers, and what is computed of them
SELECT x.id, max(y.g, 0.0), min(y.f, y.k) IS NULL FROM r x LEFT JOIN t y ON y.a = x.v + 30 AND y.k < 900 WHERE x.id < -54 AND x.id > -60
----
-58|NULL|1
-56|NULL|1

-- also behind a subquery, and in an order
SELECT z.id, z.n > z.s FROM (SELECT x.id AS id, x.s AS s, y.n AS n FROM r x LEFT JOIN t y ON y.a = x.v + 30) z WHERE z.id < -54 ORDER BY z.n > z.s, z.id
----
-58|NULL
-56|NULL
-60|0
-60|1
-60|1
-60|1
-60|1
-60|1
-60|1
