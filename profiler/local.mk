# profiler/
