-- The points of the subset, each with a statement over two series and a kv
-- table. test/python/test_sql_subset.py says which engine answers it.

-- + - * / % and comparison
SELECT a + 1, a - b, a * 2, a / 3, a % 3 FROM t WHERE a <> b AND a <= 5

-- AND, OR, NOT, conditions as values
SELECT a > 1 AND b > 2, NOT a > 1 OR b IS NULL FROM t

-- BETWEEN, IN
SELECT k FROM t WHERE a BETWEEN 1 AND 5 AND b IN (1, 2, 3)

-- LIKE 'abc%'
SELECT k FROM t WHERE n LIKE 'ab%'

-- LIKE '%c', '_' and ESCAPE
SELECT k FROM t WHERE n LIKE '%c_!%' ESCAPE '!'

-- CASE, of numbers
SELECT CASE WHEN a > 1 THEN a WHEN a < 0 THEN 0 ELSE b END FROM t

-- CASE, of texts
SELECT CASE WHEN a > 1 THEN n ELSE 'none' END FROM t

-- CAST
SELECT CAST(f AS i32), CAST(a AS f64) FROM t

-- COALESCE, IS NULL
SELECT coalesce(b, a, 0), b IS NOT NULL FROM t

-- abs, round, bucket
SELECT abs(a), round(f, 1), bucket(k, 60) FROM t

-- min, max of several values
SELECT max(a, b), min(a, b, 0) FROM t

-- length, substr
SELECT length(n), substr(n, 1, 2) FROM t

-- parameters, also texts
SELECT k FROM t WHERE n = :name AND a > :least

-- count, sum, min, max, avg
SELECT count(*), count(b), sum(a), min(f), max(f), avg(a) FROM t

-- first, last
SELECT first(a), last(f) FROM t

-- min, max of texts
SELECT min(n), max(n) FROM t

-- quantile
SELECT quantile(a, 0.5) FROM t

-- count(DISTINCT x)
SELECT count(DISTINCT a) FROM t

-- GROUP BY the order of the key
SELECT bucket(k, 60) AS m, avg(a) FROM t GROUP BY m

-- GROUP BY expressions, HAVING
SELECT a % 7 AS g, count(*) FROM t GROUP BY g HAVING count(*) > 3

-- GROUP BY texts
SELECT substr(n, 1, 1) AS g, count(*) FROM t GROUP BY g

-- DISTINCT
SELECT DISTINCT a FROM t

-- ORDER BY the key, LIMIT, OFFSET
SELECT k, a FROM t ORDER BY k DESC LIMIT 5 OFFSET 2

-- ORDER BY any output with LIMIT
SELECT k, a + b AS s FROM t ORDER BY s DESC, k LIMIT 5

-- ORDER BY any output
SELECT k, a + b AS s FROM t ORDER BY s

-- ORDER BY texts
SELECT k FROM t ORDER BY n LIMIT 5

-- JOIN on keys
SELECT t.a, u.v FROM t JOIN u ON u.k = t.k

-- LEFT JOIN on keys
SELECT t.a, u.v FROM t LEFT JOIN u ON u.k = t.k + 5

-- JOIN on a key and a column
SELECT t.k, u.v FROM t JOIN u ON u.k = t.a WHERE u.v > 3

-- self-join
SELECT x.k, y.a FROM t AS x JOIN t AS y ON y.k = x.k + 1

-- JOIN on no key
SELECT t.k, u.v FROM t JOIN u ON u.v = t.a

-- joins of three tables and more
SELECT x.k FROM t AS x JOIN t AS y ON y.k = x.k JOIN u ON u.k = x.a LEFT JOIN u AS v ON v.v > x.b

-- CROSS JOIN, tables between commas
SELECT x.k FROM t AS x, t AS y CROSS JOIN u WHERE y.k = x.k AND u.v = y.a

-- join of SELECTs on no key
SELECT x.a, y.v FROM (SELECT DISTINCT a FROM t) AS x LEFT JOIN (SELECT v, count(*) AS n FROM u GROUP BY v) AS y ON y.v > x.a

-- subquery in FROM
SELECT g, n FROM (SELECT a % 5 AS g, count(*) AS n FROM t GROUP BY g) AS s WHERE n > 2

-- join of a subquery
SELECT g, v FROM (SELECT bucket(k, 60) AS g, sum(a) AS s FROM t GROUP BY g) AS s JOIN u ON u.k = s.g

-- UNION ALL
SELECT k, a FROM t UNION ALL SELECT k, v FROM u

-- kv: key, value, type and bounds of the key
SELECT key, value, type FROM conf WHERE key LIKE 'net/%' ORDER BY key

-- kv: count(*), groups of keys
SELECT substr(key, 1, 3) AS p, count(*) FROM conf GROUP BY p

-- kv: conditions on values
SELECT key FROM conf WHERE value = '80' AND type = 'int'

-- a subquery as a value, EXISTS
SELECT k FROM t WHERE a > (SELECT avg(v) FROM u)

-- window functions
SELECT k, a - lag(a) OVER (ORDER BY k) FROM t
