-- data/sea_surface_temp.rec as bench/mcu/inputs.py makes it: the temperature
-- in 1/100 degC, the row's number, the difference to the row before.
CREATE TABLE sst (time u32 PRIMARY KEY, temp i32, number i32, step i32);
CREATE INDEX ON sst (temp) WITH (bitmap = 16);
