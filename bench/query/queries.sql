-- name: q1
SELECT time / 86400 AS day, min(temp) AS least, max(temp) AS most,
    avg(temp) AS mean
FROM uwa GROUP BY time / 86400;

-- name: q2
SELECT time / 86400 AS day, avg(temp) AS mean, max(wind) AS most
FROM uwa GROUP BY time / 86400 HAVING max(wind) > 150;

-- name: q3
SELECT count(*) AS rows FROM ethylene WHERE conc > 0;

-- name: q4
SELECT u.time, s.air AS temp_sea, u.temp AS temp_uwa
FROM sea AS s
JOIN (SELECT time + 473385600 AS time, temp FROM uwa) AS u ON s.time = u.time
WHERE s.time >= 1420099200 AND s.time < 1451635200;

-- name: q5
SELECT time / 706000 AS bucket, count(*) AS rows
FROM watch WHERE x > 500000000 GROUP BY time / 706000;
