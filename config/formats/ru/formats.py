DATE_FORMAT = "j E Y г."
DATETIME_FORMAT = "d.m.Y, H:i:s T"
TIME_FORMAT = "H:i:s"
