-- name: q1
SELECT time / 86400 AS day, min(temp) AS least, max(temp) AS most,
    avg(temp) AS mean
FROM sst GROUP BY time / 86400;

-- name: q2
SELECT time / 86400 AS day, avg(temp) AS mean, max(step) AS most
FROM sst GROUP BY time / 86400 HAVING max(step) > 12;

-- name: q3
SELECT count(*) AS rows FROM sst WHERE temp > 600;

-- name: q4
SELECT s.time, s.temp AS temp_now, u.temp AS temp_before
FROM sst AS s
JOIN (SELECT time + 2592000 AS time, temp FROM sst) AS u ON s.time = u.time
WHERE s.time >= 1458950400 AND s.time < 1463270400;

-- name: q5
SELECT time / 604800 AS bucket, count(*) AS rows
FROM sst WHERE temp > 600 GROUP BY time / 604800;
