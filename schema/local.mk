# schema/
