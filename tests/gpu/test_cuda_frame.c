/* The backend as a worker meets it, on a device that is not there (standin.h): what becomes of
 * errors that end a context, who else computes, and what comes before a timed run. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/cuda/cuda.h"
#include "kernels/gemm/cuda/gemm.h"
#include "tests/gpu/nccl.h"
#include "tests/gpu/standin.h"
#include "tests/suite.h"

#define ARRAY_SIZE(a) (sizeof (a) / sizeof *(a))

const struct dt_backend *dt_backend_get (void);

/* A library of this name that is there already is taken. */
static void *use_library (const char *name)
{
    const char *top = getenv ("top_builddir");
    char path[4096];
    void *library;

    snprintf (path, sizeof path, "%s/tests/gpu/.libs/%s", top ? top : ".", name);
    ck_assert_msg ((library = dlopen (path, RTLD_NOW | RTLD_LOCAL)) != NULL, "%s", dlerror ());
    return library;
}

/* The real one keeps memory where there is no device. */
static void use_cublaslt (void)
{
    setenv ("DT_CUBLASLT_VERSION", "130100", 1);
    use_library ("libcublasLt.so.13");
}

static struct dt_backend_ctx *open_one (uint32_t timed)
{
    const struct dt_backend_options options = { .timed = timed };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;

    use_library ("libnvidia-ml.so.1");
    ck_assert_msg (dt_backend_get ()->open (&options, &ctx, &err) == 0, "%s", err.text);
    return ctx;
}

/* A product of one request. */
struct product {
    int64_t fact[GEMM_N_FACTS], tokens;
    struct dt_backend_value param[GEMM_N_PARAMS];
    uint64_t seed;
    struct dt_backend_call call;
};

static void product_init (struct product *p, int64_t n, int64_t k, int64_t config)
{
    *p = (struct product){ .fact = { n, k, 1 }, .tokens = 1, .seed = 1,
                           .param = { { 1, NULL }, { config, NULL }, { 1, NULL } } };
    p->call = (struct dt_backend_call){ .family = &dt_backend_get ()->families[0], .fact = p->fact,
                                        .n_requests = 1, .request = &p->tokens, .seed = &p->seed,
                                        .param = p->param };
}

/* ---- errors that end a context ---- */

enum { ALLOC, SET, READ, FILL, RUN, PLAN };
static char room[64];

static int ask (struct dt_backend_ctx *ctx, int what, const struct dt_backend_call *call,
                struct dt_backend_error *err)
{
    const struct dt_backend *b = dt_backend_get ();
    struct dt_backend_plan plan;
    void *p = room;
    int r;

    switch (what) {
    case ALLOC:
        if ((r = b->alloc (ctx, 64, &p, err)) < 0)
            ck_assert_ptr_eq (p, room);
        else
            b->free (ctx, p);
        return r;
    case SET:
        return b->set (ctx, room, 0, sizeof room, err);
    case READ:
        return b->read (ctx, room, 0, sizeof room, room, err);
    case FILL:
        return b->fill (ctx, call, 0, room, err);
    case RUN:
        return b->run (ctx, call, room, room, room, err);
    default:
        return b->plan (ctx, call, &plan, err);
    }
}

static const struct {
    int what;
    const char *call; /* the runtime's that fails */
    cudaError_t with;
    int want;
    const char *text, *also;
} losses[] = {
    { ALLOC, "cudaMalloc", cudaErrorMemoryAllocation, -ENOMEM, "memory for 64 bytes",
      "cudaErrorMemoryAllocation (2)" },
    { ALLOC, "cudaMalloc", cudaErrorInvalidValue, -DT_BACKEND_EDEVICE, "cudaErrorInvalidValue (1)", "" },
    { ALLOC, "cudaMalloc", cudaErrorLaunchFailure, -DT_BACKEND_ELOST, "cudaErrorLaunchFailure (719)", "64 bytes" },
    { ALLOC, "cudaMalloc", cudaErrorECCUncorrectable, -DT_BACKEND_ELOST, "cudaErrorECCUncorrectable (214)", "" },
    { ALLOC, "cudaSetDevice", cudaErrorDevicesUnavailable, -DT_BACKEND_ELOST, "cudaErrorDevicesUnavailable (46)", "" },
    { SET, "cudaMemsetAsync", cudaErrorECCUncorrectable, -DT_BACKEND_ELOST, "(214)", "set" },
    { READ, "cudaMemcpyAsync", cudaErrorIllegalAddress, -DT_BACKEND_ELOST, "(700)", "read" },
    { FILL, "cudaMemcpyAsync", cudaErrorLaunchFailure, -DT_BACKEND_ELOST, "(719)", "n=64 k=128" },
    { FILL, "cudaStreamSynchronize", cudaErrorLaunchFailure, -DT_BACKEND_ELOST, "(719)", "n=64 k=128" },
    { RUN, "cudaStreamSynchronize", cudaErrorLaunchFailure, -DT_BACKEND_ELOST, "(719)", "n=64 k=128" },
    { RUN, "gemm_chain_launch", cudaErrorInvalidConfiguration, -DT_BACKEND_EDEVICE, "(9)", "config=0" },
};

START_TEST (loss)
{
    struct dt_backend_ctx *ctx = open_one (0);
    struct dt_backend_error err = { "" };
    struct product p;
    int what;

    product_init (&p, 64, 128, 0);
    standin.fails = losses[_i].call;
    standin.with = (int)losses[_i].with;
    ck_assert_int_eq (ask (ctx, losses[_i].what, &p.call, &err), losses[_i].want);
    ck_assert_msg (strstr (err.text, losses[_i].text) && strstr (err.text, losses[_i].also), "%s",
                   err.text);
    standin.fails = NULL;
    for (what = ALLOC; what <= PLAN; what++) { /* one that is lost stays so, though nothing fails now */
        int r = ask (ctx, what, &p.call, &err);

        ck_assert_int_eq (r, losses[_i].want == -DT_BACKEND_ELOST ? -DT_BACKEND_ELOST : 0);
        ck_assert_msg (r == 0 || (strstr (err.text, "no more answers") && strstr (err.text, losses[_i].text)), "%s",
                       err.text);
    }
    dt_backend_get ()->close (ctx);
}
END_TEST

/* Behind the library's own status. */
static const struct {
    cudaError_t is; /* what the context says */
    int want;
    const char *text;
} causes[] = {
    { cudaErrorLaunchFailure, -DT_BACKEND_ELOST, "cudaErrorLaunchFailure (719)" },
    { cudaErrorECCUncorrectable, -DT_BACKEND_ELOST, "cudaErrorECCUncorrectable (214)" },
    { cudaErrorNotReady, -DT_BACKEND_EDEVICE, "gemm: cublasLt product" },
    { cudaSuccess, -DT_BACKEND_EDEVICE, "gemm: cublasLt product" },
};

START_TEST (library_on_a_dead_context)
{
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx;
    struct product p;

    setenv ("DT_CUBLASLT_PRODUCT", "13", 1);
    ctx = open_one (0);
    product_init (&p, 64, 128, 38);
    standin.fails = "cudaStreamQuery";
    standin.with = (int)causes[_i].is;
    ck_assert_int_eq (ask (ctx, RUN, &p.call, &err), causes[_i].want);
    ck_assert_msg (strstr (err.text, causes[_i].text) && strstr (err.text, "CUBLAS_STATUS_EXECUTION_FAILED (13)")
                   && strstr (err.text, "n=64 k=128") && strstr (err.text, "config=38"), "%s", err.text);
    standin.fails = NULL;
    ck_assert_int_eq (ask (ctx, ALLOC, &p.call, &err), causes[_i].want == -DT_BACKEND_ELOST ? -DT_BACKEND_ELOST : 0);
    dt_backend_get ()->close (ctx);
}
END_TEST

/* A library that is there and does not start. */
static const struct {
    const char *status;
    cudaError_t is; /* what the context says */
    int want;
    const char *text;
} starts[] = {
    { "3", cudaSuccess, -DT_BACKEND_EDEVICE, "gemm: cublasLt handle: CUBLAS_STATUS_ALLOC_FAILED (3)" },
    { "1", cudaSuccess, -DT_BACKEND_EDEVICE, "gemm: cublasLt handle: another (1)" },
    { "1", cudaErrorLaunchFailure, -DT_BACKEND_ELOST, "cudaErrorLaunchFailure (719)" },
};

START_TEST (library_that_does_not_start)
{
    const struct dt_backend_options options = { .device = 0 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;
    int r;

    use_library ("libnvidia-ml.so.1");
    setenv ("DT_CUBLASLT_CREATE", starts[_i].status, 1);
    standin.fails = "cudaStreamQuery";
    standin.with = (int)starts[_i].is;
    r = dt_backend_get ()->open (&options, &ctx, &err);
    ck_assert_msg (r == starts[_i].want && strstr (err.text, starts[_i].text), "%d %s", r, err.text);
    ck_assert_ptr_null (ctx);
}
END_TEST

/* ---- who else computes ---- */

/* A device may be another's: whoever only asks its name starts nothing on it. */
START_TEST (identify_takes_nothing)
{
    static const char *const taken[] = { "cudaSetDevice", "cudaMalloc", "cudaFree", "cudaHostAlloc",
                                         "cudaStream", "cudaEvent", "cudaMem", "ar_load" };
    const struct dt_backend_options options = { .timed = 1, .identify = 1 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;
    size_t i;

    use_library ("libnvidia-ml.so.1");
    setenv ("DT_NVML_PIDS", "1", 1);
    ck_assert_msg (dt_backend_get ()->open (&options, &ctx, &err) == 0, "%s", err.text);
    ck_assert_str_eq (dt_backend_get ()->identity (ctx)->device, "stand-in");
    dt_backend_get ()->close (ctx);
    ck_assert_ptr_nonnull (strstr (standin.calls, "cudaGetDeviceCount"));
    for (i = 0; i < ARRAY_SIZE (taken); i++)
        ck_assert_msg (!strstr (standin.calls, taken[i]), "%s", standin.calls);
}
END_TEST

static const struct {
    const char *what, *variable, *value;
    uint32_t timed, others; /* options */
    int want;
    const char *text;
    uint32_t known; /* of the state, if it opens */
} lists[] = {
    { "nobody", "DT_NVML_PIDS", "", 1, DT_BACKEND_OTHERS_UNTIMED, 0, "", 3 },
    { "somebody", "DT_NVML_PIDS", "1", 1, DT_BACKEND_OTHERS_UNTIMED, -EBUSY, "process 1 computes", 0 },
    { "somebody, taken", "DT_NVML_PIDS", "1", 1, DT_BACKEND_OTHERS_TAKEN, 0, "", 3 },
    { "no permission", "DT_NVML_LIST", "4", 1, DT_BACKEND_OTHERS_UNTIMED, -EBUSY,
      "Insufficient Permissions (4)", 0 },
    { "no permission, no clock", "DT_NVML_LIST", "4", 0, DT_BACKEND_OTHERS_REFUSED, -EBUSY, "--shared", 0 },
    { "no permission, taken", "DT_NVML_LIST", "4", 1, DT_BACKEND_OTHERS_TAKEN, 0, "",
      DT_BACKEND_KNOWS_REASONS },
    { "no permission, an engine", "DT_NVML_LIST", "4", 0, DT_BACKEND_OTHERS_UNTIMED, 0, "",
      DT_BACKEND_KNOWS_REASONS },
    { "not supported", "DT_NVML_LIST", "3", 1, DT_BACKEND_OTHERS_UNTIMED, -EBUSY, "Not Supported (3)", 0 },
    { "no reasons", "DT_NVML_REASONS", "3", 1, DT_BACKEND_OTHERS_UNTIMED, 0, "", DT_BACKEND_KNOWS_OTHERS },
    { "no NVML", "DT_NVML_INIT", "9", 1, DT_BACKEND_OTHERS_UNTIMED, -EBUSY, "NVML does not start", 0 },
    { "no NVML, taken", "DT_NVML_INIT", "9", 1, DT_BACKEND_OTHERS_TAKEN, 0, "", 0 },
    { "too many to name", "DT_NVML_LIST", "7", 1, DT_BACKEND_OTHERS_UNTIMED, -EBUSY,
      "one of 65 processes computes", 0 },
    { "lost to NVML", "DT_NVML_INIT", "15", 1, DT_BACKEND_OTHERS_UNTIMED, -DT_BACKEND_ELOST, "GPU is lost (15)", 0 },
    { "lost to its address", "DT_NVML_HANDLE", "15", 1, DT_BACKEND_OTHERS_UNTIMED, -DT_BACKEND_ELOST,
      "GPU is lost (15)", 0 },
    { "lost to its address, taken", "DT_NVML_HANDLE", "15", 0, DT_BACKEND_OTHERS_TAKEN, -DT_BACKEND_ELOST,
      "device 0: NVML, asked for device 0000:1b:00.0", 0 },
    { "no such address", "DT_NVML_HANDLE", "6", 1, DT_BACKEND_OTHERS_UNTIMED, -EBUSY, "is not known", 0 },
    { "lost", "DT_NVML_LIST", "15", 1, DT_BACKEND_OTHERS_TAKEN, -DT_BACKEND_ELOST, "the device is lost", 0 },
};

START_TEST (who_computes)
{
    const struct dt_backend_options options = { .timed = lists[_i].timed, .others = lists[_i].others };
    const struct dt_backend *b = dt_backend_get ();
    struct dt_backend_state state = { .known = 77 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;
    int r;

    use_library ("libnvidia-ml.so.1");
    setenv (lists[_i].variable, lists[_i].value, 1);
    r = b->open (&options, &ctx, &err);
    ck_assert_msg (r == lists[_i].want, "%s: %d %s", lists[_i].what, r, err.text);
    ck_assert_msg (strstr (err.text, lists[_i].text) && !strchr (err.text, '\n'), "%s", err.text);
    if (r < 0) {
        ck_assert_ptr_null (ctx);
        /* These would make a context beside whoever is there. */
        ck_assert_msg (!strstr (standin.calls, "cudaSetDevice") && !strstr (standin.calls, "cudaMalloc")
                       && !strstr (standin.calls, "cudaFree"), "%s", standin.calls);
        return;
    }
    ck_assert_int_eq (b->state (ctx, 1, &state, &err), 0);
    ck_assert_msg (state.known == lists[_i].known, "%s: %u is known", lists[_i].what, state.known);
    b->close (ctx);
}
END_TEST

/* What NVML lists once the context has started, %d: this process.  One number that is not ours
 * may still be us, where the driver knows us by another. */
static const struct {
    const char *later;
    uint32_t others; /* options */
    int want;
    uint32_t counted; /* of the state */
} comers[] = {
    { "%d", DT_BACKEND_OTHERS_UNTIMED, 0, 0 },
    { "1", DT_BACKEND_OTHERS_UNTIMED, 0, 0 },
    { "%d 1", DT_BACKEND_OTHERS_UNTIMED, -EBUSY, 0 },
    { "1 2", DT_BACKEND_OTHERS_UNTIMED, -EBUSY, 0 },
    { "%d 1", DT_BACKEND_OTHERS_TAKEN, 0, 1 },
    { "1 2", DT_BACKEND_OTHERS_TAKEN, 0, 1 },
};

START_TEST (who_comes_meanwhile)
{
    const struct dt_backend_options options = { .timed = 1, .others = comers[_i].others };
    struct dt_backend_error err = { "" };
    struct dt_backend_state state;
    struct dt_backend_ctx *ctx = NULL;
    char pids[64];
    int r;

    use_library ("libnvidia-ml.so.1");
    setenv ("DT_NVML_PIDS", "", 1);
    snprintf (pids, sizeof pids, comers[_i].later, (int)getpid ());
    setenv ("DT_NVML_LATER", pids, 1);
    r = dt_backend_get ()->open (&options, &ctx, &err);
    ck_assert_msg (r == comers[_i].want, "%s: %d %s", pids, r, err.text);
    ck_assert (r == 0 || strstr (err.text, "started to compute on device 0"));
    if (r < 0)
        return;
    ck_assert_int_eq (dt_backend_get ()->state (ctx, 1, &state, &err), 0);
    ck_assert_uint_eq (state.others, comers[_i].counted);
    dt_backend_get ()->close (ctx);
}
END_TEST

/* One that cannot be asked half-way is not alone for certain. */
START_TEST (list_that_goes)
{
    struct dt_backend_ctx *ctx = open_one (1);
    struct dt_backend_error err = { "" };
    struct dt_backend_state state;

    ck_assert_int_eq (dt_backend_get ()->state (ctx, 1, &state, &err), 0);
    setenv ("DT_NVML_LIST", "4", 1);
    ck_assert_int_eq (dt_backend_get ()->state (ctx, 1, &state, &err), -EBUSY);
    ck_assert_msg (strstr (err.text, "Insufficient Permissions (4)") != NULL, "%s", err.text);
    dt_backend_get ()->close (ctx);
}
END_TEST

/* Without the library: this machine's, if it has one, is not asked to go away. */
START_TEST (no_nvml_at_all)
{
    const struct dt_backend_options alone = { .timed = 1 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;

    if (dlopen ("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
        printf ("no_nvml_at_all: it is there, SKIPPED\n");
        return;
    }
    ck_assert_int_eq (dt_backend_get ()->open (&alone, &ctx, &err), -EBUSY);
    ck_assert_msg (strstr (err.text, "libnvidia-ml.so.1 is not there") && strstr (err.text, "--shared"), "%s",
                   err.text);
    setenv ("DETENT_CUDA_SHARED", "1", 1);
    ck_assert_msg (dt_backend_get ()->open (&alone, &ctx, &err) == 0, "%s", err.text);
    dt_backend_get ()->close (ctx);
}
END_TEST

/* A process that waits until its standard input ends: this program itself, or another. */
static pid_t start (const char *program, int *ret_fd)
{
    int pair[2];
    pid_t pid;

    ck_assert_int_eq (pipe (pair), 0);
    ck_assert_int_ge ((pid = fork ()), 0);
    if (pid == 0) {
        dup2 (pair[0], 0);
        close (pair[0]);
        close (pair[1]);
        setenv ("DT_WAITS", "1", 1);
        execl (program, program, (char *)NULL);
        _exit (127);
    }
    close (pair[0]);
    *ret_fd = pair[1];
    return pid;
}

/* Until it runs another program than this one's copy. */
static void wait_for_exec (pid_t pid, const char *name)
{
    char path[64], text[64] = "";
    int turn;

    snprintf (path, sizeof path, "/proc/%d/comm", (int)pid);
    for (turn = 0; turn < 2000 && strncmp (text, name, strlen (name)) != 0; turn++) {
        FILE *f = fopen (path, "r");

        if (f && !fgets (text, sizeof text, f))
            text[0] = 0;
        if (f)
            fclose (f);
        usleep (1000);
    }
    ck_assert_msg (strncmp (text, name, strlen (name)) == 0, "%s, not %s", text, name);
}

/* A child that runs this program is a rank; one that runs another is not ours. */
static const struct {
    const char *what, *program, *name;
    int ours;
} children[] = {
    { "a rank", "/proc/self/exe", "exe", 1 },
    { "another program", "/bin/cat", "cat", 0 },
};

START_TEST (whose_process)
{
    const struct dt_backend_options options = { .timed = 1 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;
    char pids[64];
    int fd, r;
    pid_t pid = start (children[_i].program, &fd);

    use_library ("libnvidia-ml.so.1");
    wait_for_exec (pid, children[_i].name);
    snprintf (pids, sizeof pids, "%d %d", (int)getpid (), (int)pid);
    setenv ("DT_NVML_PIDS", pids, 1);
    r = dt_backend_get ()->open (&options, &ctx, &err);
    close (fd);
    waitpid (pid, NULL, 0);
    ck_assert_msg (r == (children[_i].ours ? 0 : -EBUSY), "%s: %d %s", children[_i].what, r, err.text);
    dt_backend_get ()->close (ctx);
}
END_TEST

/* ---- a machine without a device ---- */

static const struct {
    cudaError_t with;
    int driver;
    const char *text;
} absences[] = {
    { cudaErrorInsufficientDriver, 0, "cuda: no device: there is no NVIDIA driver" },
    { cudaErrorInsufficientDriver, 12020, "cuda: no device: the driver is for CUDA 12.2, and 13." },
    { cudaErrorNoDevice, 13000, "cuda: no device: cudaErrorNoDevice (100)" },
};

START_TEST (absence)
{
    struct dt_backend_error err = { "" };
    char name[64];

    standin.fails = "cudaGetDeviceCount";
    standin.with = (int)absences[_i].with;
    standin.driver = absences[_i].driver;
    ck_assert_int_eq (dt_backend_get ()->device_name (0, name, sizeof name, &err), -ENODEV);
    ck_assert_msg (strstr (err.text, absences[_i].text) != NULL, "%s", err.text);
}
END_TEST

/* ---- what the environment says ---- */

static const struct {
    const char *name, *value;
    int want;
    const char *text;
} settings[] = {
    { "DETENT_CUDA_CLOCK", "", 0, "" },
    { "DETENT_CUDA_CLOCK", "cupti", 0, "" },
    { "DETENT_CUDA_CLOCK", "event", -EINVAL, "cuda: DETENT_CUDA_CLOCK is 'event'; it can be cupti or events" },
    { "DETENT_CUDA_SHARED", "0", 0, "" },
    { "DETENT_CUDA_SHARED", "yes", -EINVAL, "cuda: DETENT_CUDA_SHARED is 'yes'; it can be 0 or 1" },
    { "DETENT_CUDA_LEAST_MHZ", "0", 0, "" },
    { "DETENT_CUDA_LEAST_MHZ", "900 MHz", -EINVAL, "is '900 MHz'; it can be a whole number from 0 to 100000" },
    { "DETENT_CUDA_LEAST_MHZ", "-1", -EINVAL, "DETENT_CUDA_LEAST_MHZ" },
    { "DETENT_CUDA_LEAST_MHZ", "1234567890", -EINVAL, "DETENT_CUDA_LEAST_MHZ" },
    { "DETENT_CUDA_PEER_MS", "1", 0, "" },
    { "DETENT_CUDA_PEER_MS", "0", -EINVAL, "it can be a whole number from 1 to 3600000" },
    { "DETENT_CUDA_PEER_MS", "3600001", -EINVAL, "DETENT_CUDA_PEER_MS" },
};

/* One that is misspelt would else be left out without a word. */
START_TEST (setting)
{
    const struct dt_backend_options options = { .device = 0 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;
    int r;

    use_library ("libnvidia-ml.so.1");
    setenv (settings[_i].name, settings[_i].value, 1);
    r = dt_backend_get ()->open (&options, &ctx, &err);
    ck_assert_msg (r == settings[_i].want && strstr (err.text, settings[_i].text), "%d %s", r, err.text);
    ck_assert (r < 0 ? !ctx && !strstr (standin.calls, "cuda") : ctx != NULL);
    dt_backend_get ()->close (ctx);
}
END_TEST

START_TEST (least_clock_as_it_is_set)
{
    struct dt_backend_ctx *ctx;
    struct dt_backend_error err = { "" };
    struct product p;

    setenv ("DETENT_CUDA_LEAST_MHZ", "345", 1);
    setenv ("DT_NVML_SLOW", "100", 1); /* 345 MHz each time */
    ctx = open_one (1);
    product_init (&p, 64, 128, 0);
    ck_assert_msg (ask (ctx, RUN, &p.call, &err) == 0, "%s", err.text);
    dt_backend_get ()->close (ctx);
}
END_TEST

/* ---- before a timed run ---- */

/* n, k: weights of 256 bytes to 256 MiB */
static const int64_t sizes[][2] = { { 8, 16 }, { 8, 1024 }, { 64, 1024 }, { 128, 2048 }, { 2560, 4096 },
                                    { 16384, 8192 } };

START_TEST (cold_runs)
{
    struct dt_backend_ctx *ctx = open_one (1);
    struct dt_backend_error err = { "" };
    struct product p;
    int turn;

    product_init (&p, sizes[_i][0], sizes[_i][1], 0);
    for (turn = 0; turn < 3; turn++) {
        const char *sweep, *run;

        standin.calls[0] = 0;
        standin.swept_bytes = 0;
        ck_assert_msg (ask (ctx, RUN, &p.call, &err) == 0, "%s", err.text);
        /* What the cache can hold, twice, and outside of what is timed. */
        ck_assert_uint_ge (standin.swept_bytes, 2 * ctx->l2_bytes);
        ck_assert_ptr_nonnull ((sweep = strstr (standin.calls, "cuda_sweep_launch")));
        ck_assert_ptr_nonnull ((run = strstr (sweep, "cudaEventRecord cudaGraphLaunch cudaEventRecord")));
        ck_assert_msg (!strstr (sweep + 1, "cuda_sweep_launch") && !strstr (sweep, "cudaStreamEndCapture")
                       && !strstr (sweep, "gemm_chain_launch"), "%s", standin.calls);
        ck_assert_uint_eq (dt_backend_get ()->elapsed_ns (ctx), 500000);
    }
    dt_backend_get ()->close (ctx);
}
END_TEST

/* A timed run that fails half-way is no time, and the next one is whole. */
static const char *const half_way[] = { "cuda_sweep_launch", "cudaStreamEndCapture", "cudaGraphInstantiate",
                                        "cudaGraphUpload", "cuda_delay_launch", "cudaGraphLaunch",
                                        "cudaEventElapsedTime" };

START_TEST (timed_run_that_fails)
{
    struct dt_backend_ctx *ctx = open_one (1);
    struct dt_backend_error err = { "" };
    struct product p;

    product_init (&p, 64, 128, 0);
    standin.fails = half_way[_i];
    standin.with = cudaErrorInvalidValue;
    ck_assert_int_eq (ask (ctx, RUN, &p.call, &err), -DT_BACKEND_EDEVICE);
    ck_assert_msg (strstr (err.text, "cudaErrorInvalidValue (1)") && strstr (err.text, "n=64 k=128"), "%s", err.text);
    standin.fails = NULL;
    ck_assert_msg (ask (ctx, RUN, &p.call, &err) == 0, "%s", err.text);
    ck_assert_uint_eq (dt_backend_get ()->elapsed_ns (ctx), 500000);
    standin.fails = half_way[_i];
    standin.with = cudaErrorLaunchFailure;
    ck_assert_int_eq (ask (ctx, RUN, &p.call, &err), -DT_BACKEND_ELOST);
    ck_assert_msg (strstr (err.text, "cudaErrorLaunchFailure (719)") != NULL, "%s", err.text);
    standin.fails = NULL;
    ck_assert_int_eq (ask (ctx, RUN, &p.call, &err), -DT_BACKEND_ELOST);
    dt_backend_get ()->close (ctx);
}
END_TEST

/* An engine may have left no room. */
START_TEST (no_memory_for_the_sweep)
{
    const struct dt_backend_options options = { .timed = 1 };
    struct dt_backend_error err = { "" };
    struct dt_backend_ctx *ctx = NULL;

    use_library ("libnvidia-ml.so.1");
    standin.fails = "cudaMalloc";
    standin.with = cudaErrorMemoryAllocation;
    ck_assert_int_eq (dt_backend_get ()->open (&options, &ctx, &err), -ENOMEM);
    ck_assert_msg (strstr (err.text, "L2 cache: cudaErrorMemoryAllocation (2)") != NULL, "%s", err.text);
    ck_assert_ptr_null (ctx);
}
END_TEST

/* Looks that find the device slowed, of the six that a run takes. */
static const struct {
    const char *slow;
    int want;
} slowed[] = { { "1", 0 }, { "5", 0 }, { "6", -DT_BACKEND_EUNTRUSTED } };

START_TEST (slowed_device)
{
    struct dt_backend_ctx *ctx = open_one (1);
    struct dt_backend_error err = { "" };
    struct product p;
    int r;

    product_init (&p, 64, 128, 0);
    setenv ("DT_NVML_SLOW", slowed[_i].slow, 1);
    r = ask (ctx, RUN, &p.call, &err);
    ck_assert_msg (r == slowed[_i].want, "%s: %d %s", slowed[_i].slow, r, err.text);
    ck_assert (r == 0 || strstr (err.text, "SM clock 345 MHz, least 1188"));
    if (r < 0) { /* however soon the next run comes, it looks too */
        setenv ("DT_NVML_LIST", "15", 1);
        ck_assert_int_eq (ask (ctx, RUN, &p.call, &err), -DT_BACKEND_ELOST);
    }
    dt_backend_get ()->close (ctx);
}
END_TEST

START_TEST (no_sweep_without_a_clock)
{
    struct dt_backend_ctx *ctx = open_one (0);
    struct dt_backend_error err = { "" };
    struct product p;

    product_init (&p, 64, 128, 0);
    ck_assert_int_eq (ask (ctx, RUN, &p.call, &err), 0);
    ck_assert_ptr_null (strstr (standin.calls, "cuda_sweep_launch"));
    ck_assert_ptr_null (ctx->sweep); /* an engine's memory is its own */
    dt_backend_get ()->close (ctx);
}
END_TEST

/* ---- NCCL, and a rank that does not come ---- */

#define PATIENCE_NS 50000000u

static struct dt_nccl *fake;
static struct dt_backend_ctx on_device = { .device = 1 };

static struct ar_nccl *join_nccl (void)
{
    const char id[AR_NCCL_ID_BYTES] = "";
    struct dt_backend_error err = { "" };
    struct ar_nccl *n;

    fake = dlsym (use_library ("libnccl.so.2"), "dt_nccl");
    ck_assert_ptr_nonnull (fake);
    memset (fake, 0, sizeof *fake);
    standin.fails = NULL;
    setenv ("NCCL_ALGO", "Ring", 1);
    ck_assert_msg (ar_nccl_new (&n, &err) == 0, "%s", err.text);
    ar_nccl_join (n, id, 0, 2, PATIENCE_NS);
    return n;
}

static int sum_by_nccl (struct ar_nccl *n, struct dt_backend_error *err)
{
    return ar_nccl_launch (n, &on_device, room, room, 4, 0, err);
}

START_TEST (sums_by_nccl)
{
    struct ar_nccl *n = join_nccl ();
    struct dt_backend_error err = { "" };
    int i;

    for (i = 0; i < 3; i++) {
        fake->polls = 3;
        ck_assert_msg (sum_by_nccl (n, &err) == 0, "%s", err.text);
        usleep (PATIENCE_NS / 1000 * 2); /* nor for a sum that goes into a graph */
        fake->polls = 3;
        ck_assert_msg (sum_by_nccl (n, &err) == 0, "%s", err.text);
        ck_assert_msg (ar_nccl_wait (n, &on_device, &err) == 0, "%s", err.text);
        usleep (PATIENCE_NS / 1000 * 2); /* between two sums nobody waits */
    }
    ck_assert_int_eq (fake->sums, 6);
    ck_assert_int_eq (fake->by_tree, 1);
    ck_assert_str_eq (getenv ("NCCL_ALGO"), "Ring");
    ar_nccl_free (n);
    ck_assert_int_eq (fake->aborts, 1);
    ck_assert_int_eq (fake->after_abort, 0);
}
END_TEST

/* What NCCL says while a sum is waited for, or before. */
static const struct {
    int at_wait;      /* the launch is well, and the stream never gets idle */
    int polls, state;
    int want;
    const char *text;
} nccl_losses[] = {
    { 1, 0, DT_NCCL_SUCCESS, -DT_BACKEND_EPEER, "NCCL: all-reduce: a rank is lost" },
    { 1, 1 << 30, DT_NCCL_SUCCESS, -DT_BACKEND_EPEER, "NCCL: all-reduce: a rank is lost" },
    { 1, 0, DT_NCCL_REMOTE_ERROR, -DT_BACKEND_EPEER, "NCCL: all-reduce: a rank is lost" },
    { 1, 2, DT_NCCL_SYSTEM_ERROR, -DT_BACKEND_EDEVICE, "NCCL: all-reduce: an error (2)" },
    { 0, 1 << 30, DT_NCCL_SUCCESS, -DT_BACKEND_EPEER, "NCCL: group: a rank is lost" },
    { 0, 2, DT_NCCL_SYSTEM_ERROR, -DT_BACKEND_EDEVICE, "NCCL: group: an error (2)" },
};

/* Within its patience, and then nothing is asked of the group any more. */
START_TEST (nccl_that_gives_up)
{
    struct ar_nccl *n = join_nccl ();
    struct dt_backend_error err = { "" };
    int r, sums;

    if (nccl_losses[_i].at_wait) {
        ck_assert_msg (sum_by_nccl (n, &err) == 0, "%s", err.text);
        standin.fails = "cudaStreamQuery";
        standin.with = cudaErrorNotReady;
    }
    fake->polls = nccl_losses[_i].polls;
    fake->state = nccl_losses[_i].state;
    r = nccl_losses[_i].at_wait ? ar_nccl_wait (n, &on_device, &err) : sum_by_nccl (n, &err);
    ck_assert_msg (r == nccl_losses[_i].want && strcmp (err.text, nccl_losses[_i].text) == 0, "%d %s",
                   r, err.text);
    sums = fake->sums;
    ck_assert_int_eq (sum_by_nccl (n, &err), -DT_BACKEND_EPEER);
    ck_assert_int_eq (fake->sums, sums);
    ck_assert_str_eq (getenv ("NCCL_ALGO"), "Ring");
    ar_nccl_free (n);
    ck_assert_int_eq (fake->aborts, 1);
    ck_assert_int_eq (fake->restored, 1);
    ck_assert_int_eq (fake->after_abort, 0);
    standin.fails = NULL;
}
END_TEST

/* Sums in rank order need no NCCL: where it has no network to start with, or is not on every
 * rank, its order alone is refused. */
static const struct {
    int no_id, theirs; /* does the other rank have it? */
    int want;
    const char *text;
} nccl_joins[] = {
    { 0, 1, 0, "" },
    { 0, 0, -DT_BACKEND_EUNSUPPORTED, "NCCL is not there on every rank, or does not start" },
    { DT_NCCL_SYSTEM_ERROR, 1, -DT_BACKEND_EUNSUPPORTED, "NCCL: id: an error (2)" },
};

/* Two ranks' cards; the other's is as this one's, a handle and whether it has NCCL first. */
static int gather_two (void *user, const void *mine, size_t bytes, void *all)
{
    const uint32_t has = (uint32_t)nccl_joins[*(int *)user].theirs;
    char *theirs = (char *)all + bytes;

    memcpy (all, mine, bytes);
    memcpy (theirs, mine, bytes);
    memcpy (theirs + sizeof (cudaIpcMemHandle_t), &has, sizeof has);
    return 0;
}

START_TEST (join_without_nccl)
{
    const int64_t fact[AR_N_FACTS] = { 2, 1, 1 << 20 }, request[AR_N_FIELDS] = { 4096, 0 };
    struct dt_backend_value param[AR_N_PARAMS] = { { 0, NULL }, { 0, NULL }, { 4, NULL } };
    const uint64_t seed = 1;
    const struct dt_backend *b = dt_backend_get ();
    const struct dt_backend_call call = {
        .family = &b->families[1], .fact = fact, .n_requests = 1, .request = request, .seed = &seed,
        .param = param,
    };
    int test = _i;
    const struct dt_backend_join join = { .rank = 0, .ranks = 2, .gather = gather_two, .user = &test };
    struct dt_backend_error err = { "" };
    struct dt_backend_plan plan;
    struct dt_backend_ctx *ctx;

    fake = dlsym (use_library ("libnccl.so.2"), "dt_nccl");
    fake->no_id = nccl_joins[_i].no_id;
    ctx = open_one (0);
    ck_assert_msg (b->join (ctx, &join, &err) == 0, "%s", err.text);
    ck_assert_msg (b->plan (ctx, &call, &plan, &err) == 0, "%s", err.text);
    param[AR_ORDER].one = AR_NCCL;
    ck_assert_int_eq (b->plan (ctx, &call, &plan, &err), nccl_joins[_i].want);
    ck_assert_msg (strstr (err.text, nccl_joins[_i].text) != NULL, "%s", err.text);
    b->close (ctx);
}
END_TEST

int main (void)
{
    TCase *tc;
    Suite *s;

    if (getenv ("DT_WAITS"))
        return getchar () == EOF ? 0 : 1;
    s = suite_create ("kernels/cuda/frame");
    tc = tcase_create ("all");
    tcase_set_timeout (tc, 60);
    setenv ("DETENT_CUDA_CLOCK", "events", 1);
    tcase_add_checked_fixture (tc, use_cublaslt, NULL);
    tcase_add_loop_test (tc, loss, 0, ARRAY_SIZE (losses));
    tcase_add_loop_test (tc, library_on_a_dead_context, 0, ARRAY_SIZE (causes));
    tcase_add_loop_test (tc, library_that_does_not_start, 0, ARRAY_SIZE (starts));
    tcase_add_test (tc, identify_takes_nothing);
    tcase_add_loop_test (tc, who_computes, 0, ARRAY_SIZE (lists));
    tcase_add_loop_test (tc, who_comes_meanwhile, 0, ARRAY_SIZE (comers));
    tcase_add_test (tc, list_that_goes);
    tcase_add_test (tc, no_nvml_at_all);
    tcase_add_loop_test (tc, whose_process, 0, ARRAY_SIZE (children));
    tcase_add_loop_test (tc, absence, 0, ARRAY_SIZE (absences));
    tcase_add_loop_test (tc, setting, 0, ARRAY_SIZE (settings));
    tcase_add_test (tc, least_clock_as_it_is_set);
    tcase_add_loop_test (tc, cold_runs, 0, ARRAY_SIZE (sizes));
    tcase_add_loop_test (tc, timed_run_that_fails, 0, ARRAY_SIZE (half_way));
    tcase_add_test (tc, no_memory_for_the_sweep);
    tcase_add_loop_test (tc, slowed_device, 0, ARRAY_SIZE (slowed));
    tcase_add_test (tc, no_sweep_without_a_clock);
    tcase_add_test (tc, sums_by_nccl);
    tcase_add_loop_test (tc, nccl_that_gives_up, 0, ARRAY_SIZE (nccl_losses));
    tcase_add_loop_test (tc, join_without_nccl, 0, ARRAY_SIZE (nccl_joins));
    suite_add_tcase (s, tc);
    return suite_run (s);
}
