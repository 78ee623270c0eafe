-- every row is there
SELECT count(*), min(t), max(t), min(temp_c), max(temp_c) FROM temp
----
500|1000|5990|10.0|22.5

-- a key is looked up
SELECT * FROM temp WHERE t = 1010
----
1010|14.625

-- a key that is not there gives no row
SELECT * FROM temp WHERE t = 1011
----

-- a key range includes its ends
SELECT t FROM temp WHERE t BETWEEN 1990 AND 2010 ORDER BY t
----
1990
2000
2010

-- a value range
SELECT t, temp_c FROM temp WHERE temp_c > 22.25 ORDER BY t
----
1300|22.5
1600|22.375
2310|22.5
2610|22.375
3320|22.5
3620|22.375
4330|22.5
4630|22.375
5340|22.5
5640|22.375

-- newest first
SELECT t FROM temp ORDER BY t DESC LIMIT 2
----
5990
5980

-- groups
SELECT t // 1000 AS second, count(*) FROM temp GROUP BY second ORDER BY second
----
1|100
2|100
3|100
4|100
5|100

-- variable-length values
SELECT s, open, who FROM door WHERE who = 'guest 0'::BLOB ORDER BY s
----
3|1|guest 0
6|0|guest 0

-- two tables are joined
SELECT s, t FROM door JOIN temp ON t = s * 1000 WHERE s > 3 ORDER BY s
----
4|4000
5|5000

-- a table is joined with itself
SELECT count(*) FROM temp a JOIN temp b ON a.t = b.t + 10
----
499

-- a window function
SELECT s, lag(open) OVER (ORDER BY s) FROM door WHERE s < 4 ORDER BY s
----
1|NULL
2|1
3|0

-- a key is a time
SELECT strftime(epoch_ms(t), '%S.%g') FROM temp WHERE t = 1250
----
01.250
