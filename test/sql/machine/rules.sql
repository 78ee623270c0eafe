-- division truncates toward 0, and by 0 is NULL
SELECT 7 / 2, -7 / 2, 7 % 3, -7 % 3, 1 / 0, 1 % 0
----
3|-3|1|-1|NULL|NULL

-- a division by a column that is 0 is NULL
SELECT k, 100 / b, 100 % b FROM t WHERE k < 18
----
0|NULL|NULL
5|100|0
10|NULL|NULL
12|33|1
17|25|0

-- a sum beyond 64 bits is an error (not SQLite's: it becomes a float)
SELECT a + 9223372036854775807 FROM t /* not SQLite */
----
error: a limit of the build or of a type

-- a constant beyond 64 bits is an error at its place (not SQLite's)
SELECT 9223372036854775807 + 1 /* not SQLite */
----
error: sql:1:8: 9223372036854775807 + 1 is beyond 64 bits

-- a total beyond 64 bits is an error
SELECT sum(k * 100000000000000000) FROM t WHERE k > 10 AND k < 50
----
error: a limit of the build or of a type

-- aggregates of no rows are NULL, but for count
SELECT count(*), count(a), sum(a), min(a), max(a), avg(a) FROM t WHERE k < 0
----
0|0|NULL|NULL|NULL|NULL

-- aggregates leave NULLs out
SELECT count(*), count(b), sum(b), min(b), max(b), avg(b), count(f) FROM t
----
300|240|480|0|4|2.0|273

-- the mean of integers is rounded once
SELECT avg(a), avg(k) FROM t WHERE k < 30
----
-5.75|14.875

-- NULL is the least value of an order
SELECT k, b FROM t WHERE k < 20 ORDER BY b, k
----
10|NULL
0|0
5|1
12|3
17|4

-- NULL is last where the order falls
SELECT k, b FROM t WHERE k < 20 ORDER BY b DESC, k
----
17|4
12|3
5|1
0|0
10|NULL

-- IN and NOT IN of NULL are unknown
SELECT count(*) FROM t WHERE b NOT IN (0, 1) OR b IN (7)
----
120

-- IN with NULL in the list is TRUE or unknown
SELECT count(*) FROM t WHERE b NOT IN (0, NULL)
----
0

-- conditions are 0, 1 or NULL
SELECT b = 1, b > 3 OR b IS NULL, NOT b FROM t WHERE k < 18
----
0|0|1
1|0|0
NULL|1|NULL
0|0|0
0|1|0

-- a number is a condition
SELECT count(*) FROM t WHERE b
----
180

-- IS compares NULLs, too
SELECT count(*) FROM t WHERE b IS NULL AND b IS NOT 3
----
60

-- the sum of a missing value is NULL
SELECT b + 1, abs(b), -b FROM t WHERE k = 10
----
NULL|NULL|NULL

-- a range leaves missing values out
SELECT count(*) FROM t WHERE b < 3 AND b >= 0
----
120

-- a NaN is NULL
SELECT k, f IS NULL FROM t WHERE f IS NULL AND k < 60
----
12|1
58|1

-- integers and floats compare exactly
SELECT count(*) FROM t WHERE k = 5.0 OR k > 1196.5 OR k < 0.5
----
3

-- an f32 is compared as the number that it is
SELECT k FROM u WHERE f > 33.3 AND f < 33.7
----
1010

-- CAST of a float cuts its fraction off
SELECT CAST(2.9 AS INTEGER), CAST(-2.9 AS INTEGER), CAST(g AS INTEGER) FROM t WHERE k = 17
----
2|-2|1

-- CAST to a narrow type is checked (not SQLite's: it ignores the width)
SELECT CAST(k AS u8) FROM t WHERE k > 250 AND k < 260 /* not SQLite */
----
error: a limit of the build or of a type

-- CAST of a float beyond 64 bits is an error (not SQLite's)
SELECT CAST(g * 1e300 AS i64) FROM t WHERE k > 1000 /* not SQLite */
----
error: a limit of the build or of a type

-- round() rounds half away from 0
SELECT round(2.5), round(-2.5), round(f, 1), round(7) FROM t WHERE k = 5
----
3.0|-3.0|-1.6|7.0

-- bucket() is the largest multiple below, also of negative numbers
SELECT id, bucket(id, 7) FROM r WHERE id BETWEEN -16 AND -12
----
-16|-21
-14|-14
-12|-14

-- groups by a division have one bucket around 0
SELECT id / 50, count(*), min(id), max(id) FROM r GROUP BY id / 50
----
-1|6|-60|-50
0|49|-48|48
1|25|50|98
2|25|100|148
3|25|150|198
4|20|200|238

-- such groups also come backward
SELECT id / 50, count(*) FROM r GROUP BY id / 50 ORDER BY 1 DESC
----
4|20
3|25
2|25
1|25
0|49
-1|6

-- first() and last() are in the order of the rows (not SQLite's)
SELECT k / 400, first(a), last(a), first(n), last(b) FROM t GROUP BY k / 400 ORDER BY 1 DESC /* not SQLite */
----
2|-14|-18||4
1|-17|20|b|4
0|-20|17||4

-- a text is compared by its bytes
SELECT DISTINCT n FROM t WHERE n > 'ab' ORDER BY n
----
abc
b
ba
north
south

-- LIKE tells cases apart
SELECT count(*) FROM t WHERE n LIKE 'N%'
----
0

-- LIKE 'text%' is a beginning, and LIKE without % the text
SELECT count(*) FROM t WHERE n LIKE 'ab%' AND NOT n LIKE 'abc'
----
38

-- % is any text, _ any one character
SELECT DISTINCT n FROM t WHERE n LIKE '_o%h' ORDER BY n
----
north
south

-- a pattern that is tried at each place
SELECT DISTINCT n FROM t WHERE n LIKE '%t%_' OR n LIKE '%b_' ORDER BY n
----
abc
ba
north
south

-- an escaped wildcard is a letter, and so is an escape that is escaped
SELECT count(*) FROM t WHERE n LIKE 'a!%' ESCAPE '!' OR n LIKE '!_b' ESCAPE '!' OR n LIKE '%!!' ESCAPE '!'
----
0

-- NOT LIKE is its opposite
SELECT count(*) FROM t WHERE NOT n LIKE '%o%' AND n LIKE '_%'
----
188

-- the least and the greatest text
SELECT min(s), max(s), count(s) FROM r WHERE id < 0 AND s LIKE '%_%'
----
a|south|26

-- of no texts they are NULL
SELECT min(n), max(n) FROM t WHERE n LIKE '%x'
----
NULL|NULL

-- of groups each has its own
SELECT b, min(n), max(n) FROM t WHERE n <> '' GROUP BY b ORDER BY b LIMIT 2
----
NULL|a|south
0|a|south

-- texts are the keys of groups
SELECT s, count(*), min(id) FROM r GROUP BY s ORDER BY s DESC LIMIT 3
----
south|19|-50
north|19|-56
ba|18|-46

-- substr() counts from 1, and has what there is
SELECT id, substr(s, 2, 3) AS a, substr(s, 4) AS b, substr(s, 1, 0) AS c FROM r WHERE id < -54 ORDER BY id
----
-60|||
-58|bc||
-56|ort|th|

-- length() is of characters, without zeros at the end
SELECT length(n) AS l, count(*) FROM t GROUP BY length(n) ORDER BY l
----
0|38
1|75
2|75
3|38
5|74

-- CASE and coalesce() of texts
SELECT k, coalesce(CASE WHEN a > 10 THEN n END, 'none'), CASE WHEN b = 1 THEN n WHEN b = 3 THEN substr(n, 1, 1) END FROM t WHERE k < 25 ORDER BY k
----
0|none|NULL
5|none|a
10|none|NULL
12|none|a
17|none|NULL
22|ba|NULL
24|none|north

-- an error of a row behind the value of first() ends the query, too (not SQLite's)
SELECT first(k * 3074457345618258603) FROM t /* not SQLite */
----
error: a limit of the build or of a type
