/* detent/tuple.h - the encoding of commitment tuples and commits.
 *
 * Both are canonical values: maps with keys in byte order, lists, strings and
 * 64-bit integers in one fixed, length-prefixed form.  A value is 'i' and 8
 * bytes little-endian; 's', u32 length and bytes; 'l', u32 count and values; or
 * 'm', u32 count and entries of u32 length, key bytes and value, keys ascending.
 *
 * A tuple:
 *
 *   bits        m  all that may change output bits:
 *     backend     m  {build, device, driver, libraries, name: s, units: i}
 *     deployment  s  name
 *     engine      m  {build: s, name: s}
 *     model       s
 *     parallelism m  {name: i}
 *     sampler     s  absent if the deployment has none
 *     sites       l  of {facts: {name: i or s}, family: s, knobs: {name: i or s},
 *                    pins: {name: i or s}, program: s (digest), site: s}, ordered
 *                    by (family, site); facts are the deployment's limits and the
 *                    site's own; bools are 0 and 1, enum members their text, a
 *                    knob's floats the shortest text that reads back as they are
 *   selectors   l  of {family: s, pinned: s (digest), site: s, stock: s (digest)}
 *   tables      l  of {cells, family: s, field: s, site: s}: the free tables, which the
 *                  selectors hold too; cells: l of {value: i, when: l of {hi: i, lo: i,
 *                  quantity: s}}, the first that holds gives the field's value
 *   version     i  DETENT_TUPLE_VERSION
 *
 * bits digest = BLAKE2b-256, personal "bits", over the bytes of the value of key
 * `bits`; full digest = BLAKE2b-256, personal "tuple", over the whole.  Outputs
 * are comparable if their bits digests are equal.
 *
 * A commit:
 *
 *   author      s
 *   bits        s  digest of the tuple
 *   deployment  s
 *   message     s
 *   parent      s  digest of the commit before; absent in the first
 *   sampled     i  1: sampled legality was accepted
 *   sequence    i  1, 2, ... within (deployment, workload)
 *   signer      s  32 bytes, Ed25519 public key
 *   time        i  nanoseconds since 1970-01-01 UTC
 *   tuple       s  full digest
 *   version     i  DETENT_COMMIT_VERSION
 *   workload    s
 *
 * commit digest = BLAKE2b-256, personal "commit", over its bytes; the signature
 * is Ed25519 over that digest's 32 bytes.
 *
 * A certificate: what was tried to make free values show in the bits of one family
 * at one site, with these binding values, on this backend, and did not.
 *
 *   backend     m  as a tuple's
 *   batches     i  batches that ran
 *   binding     m  {field: i}: the assignment
 *   facts       m  {name: i} of the site
 *   family      s
 *   free        m  {field: l of i}: the values that ran
 *   of          i  combinations of free values
 *   power       m  {cancelling, random, spread: m {changed, exchange, rows: i}}: of
 *                  `rows` requests alone, `changed` had other bits when the last term
 *                  of their sums and the one `exchange` before it changed places; the
 *                  least exchange that any showed, 0 if none did; of a site
 *                  with bf16 outputs, in fp32 ones
 *   refused     i  combinations that have no kernel
 *   repeats     i  of each run
 *   requests    i  most in a batch
 *   rivals      i  contexts that contended
 *   rows        i  compared, all bits; of a site with bf16 outputs, also of fp32 ones
 *   runs        i
 *   seed        i  of batches and free values
 *   site        s
 *   thresholds  m  {quantity: l of i}: values at which free values change, each met
 *                  from both sides
 *   tried       i  combinations that ran
 *   version     i  DETENT_CERTIFICATE_VERSION
 *
 * certificate digest = BLAKE2b-256, personal "certificate", over its bytes. */
#ifndef DETENT_TUPLE_H
#define DETENT_TUPLE_H

#define DETENT_TUPLE_VERSION 1
#define DETENT_COMMIT_VERSION 1
#define DETENT_DIGEST_BITS "bits"
#define DETENT_DIGEST_TUPLE "tuple"
#define DETENT_DIGEST_COMMIT "commit"
#define DETENT_DIGEST_SELECTOR "selector"
#define DETENT_CERTIFICATE_VERSION 1
#define DETENT_DIGEST_CERTIFICATE "certificate"

#endif
