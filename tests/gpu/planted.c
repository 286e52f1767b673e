/* The CUDA backend with faults planted, chosen when it is loaded: by DT_PLANT, or by the
 * file's name, detent-backend-planted-FAULT.so, since the daemon's workers get no such
 * variable, or, as detent-backend-planted-told.so, by the file "fault" beside it: none if
 * that is not there.  For the checks on a GPU alone. */
#define _GNU_SOURCE 1 /* dladdr */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/allreduce/cuda/plant.h"
#include "kernels/cuda/plant.h"
#include "kernels/gemm/cuda/plant.h"
#include "tests/gpu/trap.h"

/* The launch that fails, or the buffer whose records are counted as lost; and the reading
 * of the device, after two at the start. */
#define TURN 10
#define READING 4

enum ar_plant ar_plant;
int ar_plant_only = -1;
enum gemm_plant gemm_plant;

static enum {
    NONE,
    TRAP,      /* a kernel ends the context: the device's own error */
    ECC,       /* a launch says 214 */
    LOST,      /* NVML says that the device is lost */
    GONE,      /* no context can be made */
    SLOW,      /* the SM clock is at 55%, for no reason */
    HOT,       /* thermal slowdown */
    TAKEN,     /* CUPTI serves somebody else */
    FORBIDDEN, /* CUPTI refuses this user */
    DROP_FEW,  /* CUPTI counts lost records of a few runs */
    DROP,      /* of all */
    COUNTER,   /* that counter cannot be read */
} plant;

static const struct {
    const char *name;
    int device; /* of the enum above */
    enum gemm_plant gemm;
    enum ar_plant ar;
    int only; /* of ar_plant_only */
} faults[] = {
    { "none", NONE, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "split_k", NONE, GEMM_PLANT_SPLIT_K, AR_PLANT_NONE, -1 },
    { "epilogue", NONE, GEMM_PLANT_EPILOGUE, AR_PLANT_NONE, -1 },
    { "workspace", NONE, GEMM_PLANT_WORKSPACE, AR_PLANT_NONE, -1 },
    { "ring", NONE, GEMM_PLANT_NONE, AR_PLANT_RING, -1 },
    { "hop", NONE, GEMM_PLANT_NONE, AR_PLANT_HOP, -1 },
    { "hop_two_shot", NONE, GEMM_PLANT_NONE, AR_PLANT_HOP, AR_TWO_SHOT },
    { "barrier", NONE, GEMM_PLANT_NONE, AR_PLANT_BARRIER, -1 },
    { "trap", TRAP, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "ecc", ECC, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "lost", LOST, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "gone", GONE, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "slow", SLOW, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "hot", HOT, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "taken", TAKEN, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "forbidden", FORBIDDEN, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "drop_few", DROP_FEW, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "drop", DROP, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
    { "counter", COUNTER, GEMM_PLANT_NONE, AR_PLANT_NONE, -1 },
};

static char told[4096]; /* the path of the file "fault"; "" if it is not asked */

/* A device that failed stays so for the processes that follow, until the file is gone. */
static void stay_gone (void)
{
    FILE *f = *told ? fopen (told, "w") : NULL;

    if (!f)
        return;
    fputs ("gone\n", f);
    fclose (f);
}

/* Only device 0 is at fault. */
cudaError_t cuda_plant_open (int device)
{
    if (device != 0)
        plant = NONE;
    return plant == GONE ? cudaErrorDevicesUnavailable : cudaSuccess;
}

cudaError_t cuda_plant_launch (cudaStream_t stream)
{
    static unsigned turn;

    if ((plant != TRAP && plant != ECC) || ++turn < TURN)
        return cudaSuccess;
    if (plant == TRAP && turn > TURN)
        return cudaSuccess; /* what the context is told now is its own answer */
    stay_gone ();
    return plant == ECC ? cudaErrorECCUncorrectable : trap_launch (stream);
}

int cuda_plant_state (int e, struct cuda_nvml_state *s)
{
    static unsigned turn;

    if (plant == SLOW)
        s->sm_mhz = s->sm_mhz * 55 / 100;
    if (plant == HOT)
        s->reasons |= 0x40;
    if (plant != LOST || ++turn < READING)
        return e;
    stay_gone ();
    return 15; /* NVML_ERROR_GPU_IS_LOST */
}

static struct cuda_cupti real;

static CUptiResult refuse_subscriber (CUpti_SubscriberHandle *s, CUpti_CallbackFunc f, void *user)
{
    (void)s, (void)f, (void)user;
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

static CUptiResult refuse_user (CUpti_ActivityKind kind)
{
    (void)kind;
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
}

/* Three buffers at most: fewer runs than break the clock's share. */
static CUptiResult count_dropped (CUcontext context, uint32_t stream, size_t *n)
{
    static unsigned turn;
    CUptiResult r = real.dropped (context, stream, n);

    turn++;
    if (plant == COUNTER && turn >= TURN)
        return CUPTI_ERROR_UNKNOWN;
    if (r == CUPTI_SUCCESS && turn >= TURN && (plant == DROP || turn < TURN + 3))
        ++*n;
    return r;
}

void cuda_plant_cupti (struct cuda_cupti *api)
{
    real = *api;
    if (plant == TAKEN)
        api->subscribe = refuse_subscriber;
    if (plant == FORBIDDEN)
        api->enable = refuse_user;
    if (plant == DROP_FEW || plant == DROP || plant == COUNTER)
        api->dropped = count_dropped;
}

/* The name of the fault, in `text`: what the file "fault" beside the plugin says. */
static void read_told (const char *plugin, char *text, size_t size)
{
    const char *slash = strrchr (plugin, '/');
    FILE *f;

    snprintf (told, sizeof told, "%.*s/fault", slash ? (int)(slash - plugin) : 1,
              slash ? plugin : ".");
    snprintf (text, size, "none");
    if (!(f = fopen (told, "r")))
        return;
    if (!fgets (text, (int)size, f))
        snprintf (text, size, "none");
    fclose (f);
    text[strcspn (text, "\n")] = 0;
}

static void fault_name (char *text, size_t size)
{
    static const char before[] = "detent-backend-planted-";
    const char *want = getenv ("DT_PLANT"), *file;
    Dl_info info;

    if (want)
        snprintf (text, size, "%s", want);
    else if (dladdr (faults, &info) && (file = strstr (info.dli_fname, before))) {
        want = file + sizeof before - 1;
        snprintf (text, size, "%.*s", (int)strcspn (want, "."), want);
        if (strcmp (text, "told") == 0)
            read_told (info.dli_fname, text, size);
    }
}

__attribute__ ((constructor)) static void choose_plant (void)
{
    char want[64] = "";
    size_t i;

    fault_name (want, sizeof want);
    for (i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp (faults[i].name, want) == 0) {
            plant = faults[i].device;
            gemm_plant = faults[i].gemm;
            ar_plant = faults[i].ar;
            ar_plant_only = faults[i].only;
            return;
        }
    fprintf (stderr, "neither DT_PLANT nor the file names a fault\n");
    abort ();
}
