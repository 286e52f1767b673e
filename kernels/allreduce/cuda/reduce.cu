/* The kernels of the sum: push, pull, two-shot and words.
 *
 * Each element is summed in the order of the ranks, in fp32 from +0, and rounded once.
 * Which block of which rank does that, and when, is free: it does not enter the sum.
 *
 * A block deals with chunks b, b + grid, ... of the message, with the block of the same
 * number on every other rank and with no other.  It numbers what it sends by an epoch
 * that goes on from launch to launch, on the device, so that a graph may be replayed. */
#include <cuda_bf16.h>

#include "kernels/allreduce/cuda/allreduce.h"
#include "kernels/allreduce/cuda/plant.h"

static __device__ uint64_t now_ns ()
{
    uint64_t t;

    asm volatile ("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

static __device__ void store_flag (uint32_t *flag, uint32_t value)
{
    asm volatile ("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

static __device__ uint32_t load_flag (const uint32_t *flag)
{
    uint32_t value;

    asm volatile ("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

/* What one block knows. */
struct block {
    const ar_args *a;
    uint32_t rank, b, epoch;
    const uint4 *x;
    uint4 *out;
};

static __device__ uint4 *slot (const block &k, uint32_t at, uint32_t from, uint32_t epoch)
{
    size_t i = ((size_t)(epoch % AR_SLOTS) * k.a->ranks + from) * k.a->slot_blocks + k.b;

    return (uint4 *)(k.a->bank[at] + k.a->slots_at) + i * AR_CHUNK;
}

static __device__ uint32_t *flag (const block &k, uint32_t at, uint32_t from)
{
    return (uint32_t *)k.a->bank[at] + k.b * AR_MAX_RANKS + from;
}

/* Tell every other rank that what this block writes up to `epoch` is there. */
static __device__ void signal (const block &k, uint32_t epoch)
{
    __syncthreads ();
    if (threadIdx.x < k.a->ranks && threadIdx.x != k.rank) {
        __threadfence_system ();
        store_flag (flag (k, threadIdx.x, k.rank), epoch);
    }
}

static __device__ ar_state *state_of (const block &k)
{
    return (ar_state *)(k.a->bank[k.rank] + AR_STATE_AT);
}

static_assert (sizeof (ar_state) == sizeof (uint4), "a state is one load");

/* Where the launch before left this block. */
static __device__ ar_state load_state (const block &k)
{
    union {
        uint4 v;
        ar_state state;
    } u;

    u.v = __ldcg ((const uint4 *)(state_of (k) + k.b));
    return u.state;
}

/* Rank r did not come: the host is told, and the launches that follow, which end at once. */
static __device__ void give_up (const block &k, uint32_t r)
{
    for (uint32_t b = 0; b < k.a->slot_blocks; b++)
        *(volatile uint32_t *)&state_of (k)[b].lost = 1;
    *(volatile uint32_t *)k.a->lost = r + 1;
}

/* Wait until every other rank has signalled `epoch`.  0, or 1 if one did not come. */
static __device__ int wait (const block &k, uint32_t epoch)
{
    int lost = 0;

    if (threadIdx.x < k.a->ranks && threadIdx.x != k.rank) {
        const uint32_t *f = flag (k, k.rank, threadIdx.x);
        uint64_t until = 0;

        while (!lost && (int32_t)(load_flag (f) - epoch) < 0) {
            if (until == 0)
                until = now_ns () + k.a->timeout_ns;
            lost = now_ns () > until;
        }
        if (lost)
            give_up (k, threadIdx.x);
    }
    return __syncthreads_or (lost);
}

/* One vector's elements as fp32, and back. */
template <int BF16> struct lane;

template <> struct lane<1> {
    enum { N = 8 };
    static __device__ void add (float *acc, uint4 v)
    {
        const uint32_t w[4] = { v.x, v.y, v.z, v.w };

#pragma unroll
        for (int i = 0; i < 4; i++) {
            acc[2 * i] = __fadd_rn (acc[2 * i], __uint_as_float (w[i] << 16));
            acc[2 * i + 1] = __fadd_rn (acc[2 * i + 1], __uint_as_float (w[i] & 0xffff0000u));
        }
    }
    static __device__ uint4 round (const float *acc)
    {
        uint32_t w[4];

#pragma unroll
        for (int i = 0; i < 4; i++) {
            __nv_bfloat162 two = __halves2bfloat162 (__float2bfloat16_rn (acc[2 * i]),
                                                     __float2bfloat16_rn (acc[2 * i + 1]));

            w[i] = *(const uint32_t *)&two;
        }
        return make_uint4 (w[0], w[1], w[2], w[3]);
    }
};

template <> struct lane<0> {
    enum { N = 4 };
    static __device__ void add (float *acc, uint4 v)
    {
        acc[0] = __fadd_rn (acc[0], __uint_as_float (v.x));
        acc[1] = __fadd_rn (acc[1], __uint_as_float (v.y));
        acc[2] = __fadd_rn (acc[2], __uint_as_float (v.z));
        acc[3] = __fadd_rn (acc[3], __uint_as_float (v.w));
    }
    static __device__ uint4 round (const float *acc)
    {
        return make_uint4 (__float_as_uint (acc[0]), __float_as_uint (acc[1]), __float_as_uint (acc[2]),
                           __float_as_uint (acc[3]));
    }
};

/* One more rank's elements. */
template <int BF16> static __device__ void add (const block &k, float *acc, uint4 v)
{
    lane<BF16>::add (acc, v);
    if (AR_PLANTED (*k.a, HOP)) {
        uint4 hop = lane<BF16>::round (acc);

        for (int i = 0; i < lane<BF16>::N; i++)
            acc[i] = 0.0f;
        lane<BF16>::add (acc, hop);
    }
}

/* The rank whose elements come r-th: of the canonical order, r. */
static __device__ uint32_t nth (const block &k, uint32_t r)
{
    return AR_PLANTED (*k.a, RING) ? (r + k.rank + 1) % k.a->ranks : r;
}

/* The sum of `n` vectors (at most AR_CHUNK) from each rank: from (r)[i]. */
template <int BF16, typename F>
static __device__ void sum (const block &k, F from, uint32_t n, uint4 *out)
{
    enum { N = lane<BF16>::N, EACH = AR_CHUNK / AR_THREADS };
    float acc[EACH][N];
    uint32_t r, i;

#pragma unroll
    for (i = 0; i < EACH; i++)
#pragma unroll
        for (uint32_t j = 0; j < N; j++)
            acc[i][j] = 0.0f;
    for (r = 0; r < k.a->ranks; r++) {
        const uint4 *p = from (nth (k, r));
        uint4 v[EACH];

#pragma unroll
        for (i = 0; i < EACH; i++)
            if (i * AR_THREADS + threadIdx.x < n)
                v[i] = __ldcg (p + i * AR_THREADS + threadIdx.x);
#pragma unroll
        for (i = 0; i < EACH; i++)
            if (i * AR_THREADS + threadIdx.x < n)
                add<BF16> (k, acc[i], v[i]);
    }
#pragma unroll
    for (i = 0; i < EACH; i++)
        if (i * AR_THREADS + threadIdx.x < n)
            out[i * AR_THREADS + threadIdx.x] = lane<BF16>::round (acc[i]);
}

/* The chunk's first vector, or past the end. */
static __device__ uint64_t chunk_at (const block &k, uint32_t i)
{
    return ((uint64_t)i * gridDim.x + k.b) * k.a->chunk;
}

static __device__ uint32_t chunk_len (const block &k, uint64_t at)
{
    return k.a->vectors - at < k.a->chunk ? (uint32_t)(k.a->vectors - at) : k.a->chunk;
}

/* Chunk `at` to where the others look for it: their memory, or this rank's own. */
template <int PUSH>
static __device__ void publish (const block &k, uint64_t at, uint32_t epoch)
{
    uint32_t n = chunk_len (k, at), i, r;

    for (i = threadIdx.x; i < n; i += AR_THREADS) {
        uint4 v = k.x[at + i];

        if (!PUSH)
            slot (k, k.rank, k.rank, epoch)[i] = v;
        for (r = 0; PUSH && r < k.a->ranks; r++)
            if (r != k.rank)
                slot (k, r, k.rank, epoch)[i] = v;
    }
}

template <int BF16, int PUSH>
static __device__ void collect (const block &k, uint64_t at, uint32_t epoch)
{
    auto from = [&] (uint32_t r) -> const uint4 * {
        return r == k.rank ? k.x + at : slot (k, PUSH ? k.rank : r, r, epoch);
    };

    sum<BF16> (k, from, chunk_len (k, at), k.out + at);
}

/* Push or pull: the next chunk is sent before the last one is waited for. */
template <int BF16, int PUSH> static __device__ uint32_t one_shot (const block &k)
{
    uint32_t i, n = 0;

    for (i = 0; chunk_at (k, i) < k.a->vectors; i++, n++) {
        publish<PUSH> (k, chunk_at (k, i), k.epoch + 1 + i);
        signal (k, k.epoch + 1 + i);
        if (i > 0) {
            if (wait (k, k.epoch + i))
                return 0;
            collect<BF16, PUSH> (k, chunk_at (k, i - 1), k.epoch + i);
        }
    }
    if (n == 0)
        return 0;
    if (!AR_PLANTED (*k.a, BARRIER) && wait (k, k.epoch + n))
        return 0;
    collect<BF16, PUSH> (k, chunk_at (k, n - 1), k.epoch + n);
    return n;
}

/* Two-shot: rank r sums the r-th part of each chunk and sends the result to all. */
template <int BF16> static __device__ uint32_t two_shot (const block &k)
{
    uint32_t epoch = k.epoch, ranks = k.a->ranks, c, i, r;

    for (c = 0; chunk_at (k, c) < k.a->vectors; c++, epoch += 2) {
        uint64_t at = chunk_at (k, c);
        uint32_t n = chunk_len (k, at), part = (n + ranks - 1) / ranks;
        uint32_t mine = min (part, n - min (n, k.rank * part));
        uint4 *own = k.out + at + k.rank * part;
        auto from = [&] (uint32_t which) -> const uint4 * {
            return which == k.rank ? k.x + at + k.rank * part : slot (k, k.rank, which, epoch + 1);
        };

        for (i = threadIdx.x; i < n; i += AR_THREADS)
            if ((r = i / part) != k.rank)
                slot (k, r, k.rank, epoch + 1)[i - r * part] = k.x[at + i];
        signal (k, epoch + 1);
        if (wait (k, epoch + 1))
            return 0;
        sum<BF16> (k, from, mine, own);
        for (i = threadIdx.x; i < mine; i += AR_THREADS)
            for (r = 0; r < ranks; r++)
                if (r != k.rank)
                    slot (k, r, k.rank, epoch + 2)[i] = own[i];
        signal (k, epoch + 2);
        if (!AR_PLANTED (*k.a, BARRIER) && wait (k, epoch + 2))
            return 0;
        for (i = threadIdx.x; i < n; i += AR_THREADS)
            if ((r = i / part) != k.rank)
                k.out[at + i] = __ldcg (slot (k, k.rank, r, epoch + 2) + (i - r * part));
    }
    return epoch - k.epoch;
}

/* --- words ------------------------------------------------------------------------- */

/* Half a vector and the number of the chunk that it is of: sixteen bytes that are written
 * and read at once (PTX: .b128, relaxed, system), so no flag has to follow the data. */
struct word {
    uint64_t data, chunk;
};

#define WORD_POLLS 64 /* between two looks at the clock, which are slow */

static __device__ void store_word (word *at, uint64_t data, uint64_t chunk)
{
    asm volatile ("{ .reg .b128 w; mov.b128 w, {%1, %2}; st.relaxed.sys.global.b128 [%0], w; }"
                  ::"l"(at), "l"(data), "l"(chunk) : "memory");
}

static __device__ word load_word (const word *at)
{
    word w;

    asm volatile ("{ .reg .b128 w; ld.relaxed.sys.global.b128 w, [%2]; mov.b128 {%0, %1}, w; }"
                  : "=l"(w.data), "=l"(w.chunk) : "l"(at) : "memory");
    return w;
}

/* A vector's first half; the second is AR_THREADS further on. */
static __device__ word *word_at (const block &k, uint32_t at, uint32_t from, uint64_t chunk)
{
    size_t i = ((size_t)(chunk % AR_WORD_SLOTS) * k.a->ranks + from) * k.a->slot_blocks + k.b;

    return (word *)(k.a->bank[at] + AR_WORDS_AT) + i * 2 * AR_THREADS + threadIdx.x;
}

static __device__ void send_words (const block &k, uint4 v, uint64_t chunk)
{
    for (uint32_t r = 0; r < k.a->ranks; r++)
        if (r != k.rank) {
            word *at = word_at (k, r, k.rank, chunk);

            store_word (at, (uint64_t)v.y << 32 | v.x, chunk);
            store_word (at + AR_THREADS, (uint64_t)v.w << 32 | v.z, chunk);
        }
}

/* Rank r's vector of the chunk, once it is there.  0, or 1 if it did not come. */
static __device__ int await_words (const block &k, uint32_t r, uint64_t chunk, uint4 *ret)
{
    const word *at = word_at (k, k.rank, r, chunk);
    uint64_t until = 0;
    uint32_t polls = 0;
    word w[2];

    for (;;) {
        w[0] = load_word (at);
        w[1] = load_word (at + AR_THREADS);
        if ((w[0].chunk == chunk && w[1].chunk == chunk) || AR_PLANTED (*k.a, BARRIER))
            break;
        if (++polls % WORD_POLLS)
            continue;
        if (until == 0)
            until = now_ns () + k.a->timeout_ns;
        if (now_ns () > until) {
            give_up (k, r);
            return 1;
        }
    }
    *ret = make_uint4 ((uint32_t)w[0].data, (uint32_t)(w[0].data >> 32), (uint32_t)w[1].data,
                       (uint32_t)(w[1].data >> 32));
    return 0;
}

/* Each rank writes its words to all others and sums what has come.  Two slots do: what a
 * rank's block sends of chunk c says that all threads of that block have read chunk c-2, as
 * they meet after each chunk; and chunk c+1 is sent after a word of c has come from each
 * rank. */
template <int BF16> static __device__ void words (const block &k)
{
    ar_state state = load_state (k);
    uint64_t chunk = state.count, at;
    uint32_t i, r;

    if (state.lost)
        return;
    for (i = 0; (at = chunk_at (k, i)) < k.a->vectors; i++) {
        float acc[lane<BF16>::N] = { 0 };
        int lost = 0;

        chunk++;
        if (threadIdx.x < chunk_len (k, at)) {
            uint4 mine = k.x[at + threadIdx.x], v;

            send_words (k, mine, chunk);
            for (r = 0; r < k.a->ranks && !lost; r++)
                if (nth (k, r) == k.rank)
                    add<BF16> (k, acc, mine);
                else if (!(lost = await_words (k, nth (k, r), chunk, &v)))
                    add<BF16> (k, acc, v);
            k.out[at + threadIdx.x] = lane<BF16>::round (acc);
        }
        if (__syncthreads_or (lost))
            return;
    }
    if (threadIdx.x == 0 && i)
        state_of (k)[k.b].count = chunk;
}

/* --- the launch -------------------------------------------------------------------- */

/* A launch may overlap the end of what is before it on the stream, and touches no memory
 * until that is done: half a microsecond, which a short message feels. */
static __device__ void await_launch ()
{
#if __CUDA_ARCH__ >= 900
    asm volatile ("griddepcontrol.wait;" ::: "memory");
#endif
}

template <int BF16, int ALGORITHM>
static __global__ void __launch_bounds__ (AR_THREADS) reduce (const __grid_constant__ ar_args a)
{
    ar_state state;
    uint32_t n;
    block k;

    k.a = &a;
    k.rank = a.first + blockIdx.y;
    k.b = blockIdx.x;
    k.x = (const uint4 *)a.x + blockIdx.y * a.vectors;
    k.out = (uint4 *)a.out + blockIdx.y * a.vectors;
    await_launch ();
    if (ALGORITHM == AR_WORDS) {
        words<BF16> (k);
        return;
    }
    state = load_state (k);
    if (__syncthreads_or (state.lost)) /* all of a block or none: another may just give up */
        return;
    k.epoch = state.epoch;
    n = ALGORITHM == AR_TWO_SHOT ? two_shot<BF16> (k)
        : ALGORITHM == AR_PUSH ? one_shot<BF16, 1> (k) : one_shot<BF16, 0> (k);
    if (threadIdx.x == 0 && n)
        state_of (k)[k.b].epoch = k.epoch + n;
}

static const void *const kernels[2][AR_N_ALGORITHMS] = {
    { (const void *)reduce<0, AR_PUSH>, (const void *)reduce<0, AR_PULL>,
      (const void *)reduce<0, AR_TWO_SHOT>, (const void *)reduce<0, AR_WORDS> },
    { (const void *)reduce<1, AR_PUSH>, (const void *)reduce<1, AR_PULL>,
      (const void *)reduce<1, AR_TWO_SHOT>, (const void *)reduce<1, AR_WORDS> },
};

extern "C" cudaError_t ar_load (size_t *ret_resident, int *ret_overlap)
{
    cudaFuncAttributes attributes;
    int device, units, least = 0, i, j, n;
    cudaError_t e;

    if ((e = cudaGetDevice (&device)) != cudaSuccess
        || (e = cudaDeviceGetAttribute (&units, cudaDevAttrMultiProcessorCount, device)) != cudaSuccess
        || (e = cudaFuncGetAttributes (&attributes, kernels[0][0])) != cudaSuccess)
        return e;
    for (i = 0; i < 2; i++)
        for (j = 0; j < AR_N_ALGORITHMS; j++) {
            e = cudaOccupancyMaxActiveBlocksPerMultiprocessor (&n, kernels[i][j], AR_THREADS, 0);
            if (e != cudaSuccess)
                return e;
            least = least == 0 || n < least ? n : least;
        }
    *ret_resident = (size_t)least * (size_t)units;
    *ret_overlap = attributes.ptxVersion >= 90; /* the code has await_launch() */
    return cudaSuccess;
}

extern "C" cudaError_t ar_launch (cudaStream_t stream, const struct ar_args *a, const struct ar_shape *s)
{
    void *args[] = { (void *)a };
    /* a thread of words() has one vector of a chunk */
    unsigned threads = s->algorithm == AR_WORDS ? ((unsigned)s->chunk + 31) / 32 * 32 : AR_THREADS;
    cudaLaunchAttribute overlap = { .id = cudaLaunchAttributeProgrammaticStreamSerialization };
    cudaLaunchConfig_t config = { .gridDim = dim3 ((unsigned)s->blocks, (unsigned)s->here),
                                  .blockDim = dim3 (threads), .stream = stream, .attrs = &overlap,
                                  .numAttrs = s->overlap ? 1u : 0u };

    overlap.val.programmaticStreamSerializationAllowed = 1;
    return cudaLaunchKernelExC (&config, kernels[s->bf16][s->algorithm], args);
}
