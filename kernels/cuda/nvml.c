#include "kernels/cuda/nvml.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/cuda/library.h"
#include "kernels/cuda/plant.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))
#define MAX_PROCESSES 64u

/* NVML's interface is versioned by symbol and stable; its header is not part of
 * every toolkit. */
typedef void *nvml_device;

enum { NVML_SUCCESS = 0, NVML_INSUFFICIENT_SIZE = 7, NVML_GPU_IS_LOST = 15 };
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };

struct nvml_process { /* nvmlProcessInfo_t of _v3 */
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

struct cuda_nvml {
    int (*init) (void);
    int (*shutdown) (void);
    int (*driver_version) (char *text, unsigned size);
    int (*by_pci) (const char *pci, nvml_device *device);
    int (*clock) (nvml_device device, int type, unsigned *mhz);
    int (*most) (nvml_device device, int type, unsigned *mhz);
    int (*reasons) (nvml_device device, unsigned long long *mask);
    int (*processes) (nvml_device device, unsigned *n, struct nvml_process *process);
    const char *(*error_text) (int e);
    nvml_device device;
    int started;
    char driver[80];
};

/* A device that is lost is told apart from an NVML that does not work. */
static int code_of (int e)
{
    return e == NVML_GPU_IS_LOST ? -DT_BACKEND_ELOST : -DT_BACKEND_EDEVICE;
}

int cuda_nvml_new (const char *pci, struct cuda_nvml **ret, struct dt_backend_error *err)
{
    static const struct cuda_symbol symbols[] = {
        { "nvmlInit_v2", offsetof (struct cuda_nvml, init) },
        { "nvmlShutdown", offsetof (struct cuda_nvml, shutdown) },
        { "nvmlSystemGetDriverVersion", offsetof (struct cuda_nvml, driver_version) },
        { "nvmlDeviceGetHandleByPciBusId_v2", offsetof (struct cuda_nvml, by_pci) },
        { "nvmlDeviceGetClockInfo", offsetof (struct cuda_nvml, clock) },
        { "nvmlDeviceGetMaxClockInfo", offsetof (struct cuda_nvml, most) },
        { "nvmlDeviceGetCurrentClocksThrottleReasons", offsetof (struct cuda_nvml, reasons) },
        { "nvmlDeviceGetComputeRunningProcesses_v3", offsetof (struct cuda_nvml, processes) },
        { "nvmlErrorString", offsetof (struct cuda_nvml, error_text) },
    };
    struct cuda_nvml *n = calloc (1, sizeof *n);
    int r, e;

    if (!n)
        return cuda_fail (err, -ENOMEM, "NVML: out of memory");
    if ((r = cuda_library_load ("libnvidia-ml.so.1", symbols, ARRAY_SIZE (symbols), n, err)) < 0)
        goto fail;
    if ((e = n->init ()) != NVML_SUCCESS) {
        r = cuda_fail (err, code_of (e), "NVML does not start: %s (%d)", n->error_text (e), e);
        goto fail;
    }
    n->started = 1;
    if ((e = n->by_pci (pci, &n->device)) != NVML_SUCCESS) {
        r = cuda_fail (err, code_of (e), "NVML, asked for device %s: %s (%d)", pci,
                       n->error_text (e), e);
        goto fail;
    }
    if (n->driver_version (n->driver, sizeof n->driver) != NVML_SUCCESS)
        n->driver[0] = 0;
    *ret = n;
    return 0;
fail:
    cuda_nvml_free (n);
    return r;
}

struct cuda_nvml *cuda_nvml_free (struct cuda_nvml *n)
{
    if (!n)
        return NULL;
    if (n->started)
        n->shutdown ();
    free (n);
    return NULL;
}

const char *cuda_nvml_driver (const struct cuda_nvml *n)
{
    return n->driver;
}

uint32_t cuda_nvml_most_mhz (const struct cuda_nvml *n)
{
    unsigned mhz = 0;

    return n->most (n->device, NVML_CLOCK_SM, &mhz) == NVML_SUCCESS ? mhz : 0;
}

/* Does the process run this one's program? */
static int is_same_program (unsigned pid)
{
    struct stat mine, theirs;
    char path[64];

    snprintf (path, sizeof path, "/proc/%u/exe", pid);
    return stat ("/proc/self/exe", &mine) == 0 && stat (path, &theirs) == 0
           && mine.st_dev == theirs.st_dev && mine.st_ino == theirs.st_ino;
}

/* Its parent, or 0. */
static pid_t parent_of (unsigned pid)
{
    char path[64], text[512], *after;
    int parent = 0;
    FILE *f;

    snprintf (path, sizeof path, "/proc/%u/stat", pid);
    if (!(f = fopen (path, "r")))
        return 0;
    /* pid (name) state parent: the name may hold anything but its last ')'. */
    after = fgets (text, sizeof text, f) ? strrchr (text, ')') : NULL;
    fclose (f);
    return after && sscanf (after, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

/* Is it this process, or one of the same program that is its parent (rank 0), its child (a
 * rank) or its parent's (a daemon's workers, a group's ranks)?  Whatever else has the same
 * parent may be an engine: a container's first process adopts what others leave. */
static int is_ours (unsigned pid)
{
    pid_t parent;

    if (pid == (unsigned)getpid ())
        return 1;
    if (!is_same_program (pid))
        return 0;
    parent = parent_of (pid);
    return pid == (unsigned)getppid () || parent == getppid () || parent == getpid ();
}

/* Count the processes that NVML lists. */
static void count_others (const struct nvml_process *process, unsigned n, struct cuda_nvml_state *s)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        s->listed |= process[i].pid == (unsigned)getpid ();
        if (!is_ours (process[i].pid)) {
            s->others++;
            s->other_pid = process[i].pid;
        }
    }
}

int cuda_nvml_read (struct cuda_nvml *n, struct cuda_nvml_state *ret,
                    struct dt_backend_error *err)
{
    struct nvml_process process[MAX_PROCESSES];
    struct cuda_nvml_state s = { 0 };
    unsigned mhz = 0, count = MAX_PROCESSES;
    unsigned long long reasons = 0;
    int e;

    if ((e = n->clock (n->device, NVML_CLOCK_SM, &mhz)) == NVML_SUCCESS)
        s.sm_mhz = mhz;
    if (e != NVML_GPU_IS_LOST
        && (e = n->clock (n->device, NVML_CLOCK_MEM, &mhz)) == NVML_SUCCESS)
        s.memory_mhz = mhz;
    if (e != NVML_GPU_IS_LOST && (e = n->reasons (n->device, &reasons)) == NVML_SUCCESS) {
        s.reasons = reasons;
        s.known |= DT_BACKEND_KNOWS_REASONS;
    }
    e = cuda_plant_state (e, &s);
    if (e != NVML_GPU_IS_LOST)
        e = n->processes (n->device, &count, process);
    if (e == NVML_GPU_IS_LOST)
        return cuda_fail (err, -DT_BACKEND_ELOST, "NVML: the device is lost; it needs a reset");
    if (e == NVML_SUCCESS)
        count_others (process, count, &s);
    else if (e == NVML_INSUFFICIENT_SIZE) /* more than there is room for: not all of them ours */
        s.others = count;
    else
        snprintf (s.why, sizeof s.why, "NVML, asked for processes: %s (%d)", n->error_text (e), e);
    if (!s.why[0])
        s.known |= DT_BACKEND_KNOWS_OTHERS;
    *ret = s;
    return 0;
}
