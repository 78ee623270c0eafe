-- What the logger writes, once a minute.
CREATE TABLE log (
    time u32 PRIMARY KEY UNIT 's',
    temp i16 MISSING -32768 UNIT '0.1 degC',
    door u8
);
