-- The series of embeddb-2024; units are tenths and so on, as in the files.
CREATE TABLE uwa (time u32 PRIMARY KEY, temp i32, pressure i32, wind i32);
CREATE TABLE sea (time u32 PRIMARY KEY, air i32, pressure i32, wind i32);
CREATE TABLE ethylene (time u32 PRIMARY KEY, co i32, conc i32, sensor i32);
CREATE TABLE watch (time u32 PRIMARY KEY, x i32, y i32, z i32);
CREATE INDEX ON uwa (temp) WITH (bitmap = 16);
CREATE INDEX ON sea (air) WITH (bitmap = 16);
CREATE INDEX ON ethylene (conc) WITH (bitmap = 16);
CREATE INDEX ON watch (x) WITH (bitmap = 16);
