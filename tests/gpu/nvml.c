/* A libnvidia-ml.so.1 that says what the test's variables want: for tests without a GPU.
 *   DT_NVML_INIT, DT_NVML_HANDLE, DT_NVML_REASONS, DT_NVML_LIST
 *                                                 statuses, 0 (success) by default
 *   DT_NVML_SLOW                                  so many readings of the clock, from when it is
 *                                                 set, find it low
 *   DT_NVML_PIDS                                  what computes on the device: "12 345",
 *                                                 of which there are too many if LIST says 7
 *   DT_NVML_LATER                                 the same from the second time on that it is asked */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#pragma GCC visibility push(default)

struct process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

int nvmlInit_v2 (void);
int nvmlShutdown (void);
int nvmlSystemGetDriverVersion (char *text, unsigned size);
int nvmlDeviceGetHandleByPciBusId_v2 (const char *pci, void **device);
int nvmlDeviceGetClockInfo (void *device, int type, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo (void *device, int type, unsigned *mhz);
int nvmlDeviceGetCurrentClocksThrottleReasons (void *device, unsigned long long *mask);
int nvmlDeviceGetComputeRunningProcesses_v3 (void *device, unsigned *n, struct process *process);
const char *nvmlErrorString (int e);

static int status (const char *variable)
{
    const char *text = getenv (variable);

    return text ? atoi (text) : 0;
}

int nvmlInit_v2 (void)
{
    return status ("DT_NVML_INIT");
}

int nvmlShutdown (void)
{
    return 0;
}

int nvmlSystemGetDriverVersion (char *text, unsigned size)
{
    snprintf (text, size, "1.2.3");
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2 (const char *pci, void **device)
{
    (void)pci;
    *device = NULL;
    return status ("DT_NVML_HANDLE");
}

int nvmlDeviceGetClockInfo (void *device, int type, unsigned *mhz)
{
    static int slow;

    (void)device;
    *mhz = type == 1 && slow < status ("DT_NVML_SLOW") ? 345 : 1980;
    slow += *mhz == 345;
    return 0;
}

int nvmlDeviceGetMaxClockInfo (void *device, int type, unsigned *mhz)
{
    (void)device, (void)type;
    *mhz = 1980;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons (void *device, unsigned long long *mask)
{
    (void)device;
    *mask = 1;
    return status ("DT_NVML_REASONS");
}

int nvmlDeviceGetComputeRunningProcesses_v3 (void *device, unsigned *n, struct process *process)
{
    static int asked;
    const char *later = getenv ("DT_NVML_LATER");
    const char *at = later && asked ? later : getenv ("DT_NVML_PIDS");
    unsigned room = *n;
    int used = 0;

    asked = 1;
    (void)device;
    for (*n = 0; at && *n < room && sscanf (at, "%u%n", &process[*n].pid, &used) == 1; at += used)
        ++*n;
    if (status ("DT_NVML_LIST") == 7) /* NVML_ERROR_INSUFFICIENT_SIZE */
        *n = room + 1;
    return status ("DT_NVML_LIST");
}

const char *nvmlErrorString (int e)
{
    return e == 4 ? "Insufficient Permissions" : e == 3 ? "Not Supported" : e == 15 ? "GPU is lost" : "another";
}
