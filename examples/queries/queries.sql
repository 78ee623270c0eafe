-- name: days
-- The range of each day, from a time on.
SELECT time / 86400 AS day, min(temp) AS coldest, max(temp) AS warmest,
    avg(temp) AS mean
FROM log WHERE time >= :since GROUP BY time / 86400;

-- name: opened
-- When the door was open while it was cold inside.
SELECT time, temp FROM log WHERE door = 1 AND temp < :limit;

-- name: warmest
SELECT time, temp FROM log ORDER BY temp DESC LIMIT 3;
