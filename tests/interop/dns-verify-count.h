/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Of nettle, what libunbound verifies signatures with; it needs no package */
#ifndef TESTS_INTEROP_DNS_VERIFY_COUNT_H
#define TESTS_INTEROP_DNS_VERIFY_COUNT_H

#include <stddef.h>

int nettle_ecdsa_verify(const void *key, size_t len, const void *digest,
                        const void *signature);
int nettle_rsa_sha256_verify_digest(const void *key, const void *digest,
                                    const void *signature);

#endif /* TESTS_INTEROP_DNS_VERIFY_COUNT_H */
