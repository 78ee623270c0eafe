-- a word that is no keyword
SELEC 1
----
error: syntax error at or near "SELEC"

-- a table that is not there
SELECT * FROM tempo
----
error: tempo

-- a column that is not there
SELECT heat FROM temp
----
error: "heat"

-- a table of the image is not written to
INSERT INTO temp VALUES (1, 2)
----
error: temp
