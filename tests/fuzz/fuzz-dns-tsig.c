/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TSIG: the first octet chooses what the rest is: a client's message to a
 * server, a server's to a client, or a key file.
 */
#include <stdlib.h>
#include <string.h>

#include "dnsd/update/tsig/tsig.h"

#define NOW 1700000000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static TsigKeys *keys;

static void make_keys(void)
{
    TsigKey key = { .algorithm = TSIG_HMAC_SHA256, .mac_len = 32,
                    .secret_len = 32 };

    if (!keys) {
        keys = tsig_keys_new();
        memcpy(key.secret, "0123456789abcdef0123456789abcdef", 32);
        dns_name_from_text(&key.name, "key.example");
        tsig_keys_add(keys, &key);
    }
}

static void be_server(uint8_t *msg, size_t len)
{
    uint8_t reply[1024] = { msg[0] };
    size_t reply_len = DNS_HEADER_LEN;
    Tsig tsig;

    tsig_verify_request(&tsig, keys, msg, &len, NOW);
    if (tsig_sign_reply(&tsig, reply, &reply_len,
                        reply_len + tsig_room(&tsig), NOW)) {
        abort();
    }
    tsig_free(&tsig);
}

static void be_client(uint8_t *msg, size_t len)
{
    uint8_t request[1024] = { 0 };
    size_t request_len = DNS_HEADER_LEN;
    DnsName name;
    Tsig tsig;

    dns_name_from_text(&name, "key.example");
    if (tsig_sign_request(&tsig, tsig_keys_find(keys, &name), request,
                          &request_len, sizeof(request), NOW)) {
        abort();
    }
    for (unsigned i = 0; i < 3; i++) {
        size_t left = len;

        tsig_verify_reply(&tsig, msg, &left, i > 0, NOW);
    }
    tsig_free(&tsig);
}

static void read_file(const uint8_t *text, size_t len)
{
    TsigKeys *read = tsig_keys_new();
    TsigKeysError error;

    if (read && len) {
        tsig_keys_read(read, (const char *)text, len, &error);
    }
    tsig_keys_free(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *msg;

    if (size < 2) {
        return 0;
    }
    make_keys();
    msg = malloc(size - 1);
    memcpy(msg, data + 1, size - 1);
    switch (data[0] % 3) {
    case 0:
        be_server(msg, size - 1);
        break;
    case 1:
        be_client(msg, size - 1);
        break;
    default:
        read_file(msg, size - 1);
    }
    free(msg);
    return 0;
}
