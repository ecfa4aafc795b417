/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The security associations of a NIC */
#include <glib.h>
#include <openssl/crypto.h>
#include <string.h>

#include "hw/net/cvsw/tunnel/sas.h"

typedef struct Association {
    uint32_t number;
    EspSaConfig config;         /* its @key points to the array below */
    uint8_t key[ESP_KEY_MAX];
    EspSa *sa;
} Association;

struct CvswSas {
    GHashTable *by_number;      /* owns the associations */
    GHashTable *by_spi;         /* inbound ones only */
};

static void association_free(gpointer data)
{
    Association *a = data;

    esp_sa_free(a->sa);
    OPENSSL_cleanse(a->key, sizeof(a->key));
    g_free(a);
}

CvswSas *cvsw_sas_new(void)
{
    CvswSas *sas = g_new0(CvswSas, 1);

    sas->by_number = g_hash_table_new_full(NULL, NULL, NULL, association_free);
    sas->by_spi = g_hash_table_new(NULL, NULL);
    return sas;
}

void cvsw_sas_free(CvswSas *sas)
{
    if (sas) {
        g_hash_table_destroy(sas->by_spi);
        g_hash_table_destroy(sas->by_number);
        g_free(sas);
    }
}

static Association *find(GHashTable *table, uint32_t number)
{
    return g_hash_table_lookup(table, GUINT_TO_POINTER(number));
}

static bool is_same(const Association *a, const EspSaConfig *config)
{
    return a->config.algorithm == config->algorithm &&
           a->config.direction == config->direction &&
           a->config.spi == config->spi && a->config.esn == config->esn &&
           a->config.window == config->window &&
           a->config.key_len == config->key_len &&
           CRYPTO_memcmp(a->key, config->key, config->key_len) == 0;
}

static void forget(CvswSas *sas, Association *a)
{
    if (a->config.direction == ESP_INBOUND) {
        g_hash_table_remove(sas->by_spi, GUINT_TO_POINTER(a->config.spi));
    }
    g_hash_table_remove(sas->by_number, GUINT_TO_POINTER(a->number));
}

static void remember(CvswSas *sas, uint32_t number, const EspSaConfig *config,
                     EspSa *sa)
{
    Association *a = g_new0(Association, 1);

    a->number = number;
    a->config = *config;
    memcpy(a->key, config->key, config->key_len);
    a->config.key = a->key;
    a->sa = sa;
    g_hash_table_insert(sas->by_number, GUINT_TO_POINTER(number), a);
    if (config->direction == ESP_INBOUND) {
        g_hash_table_insert(sas->by_spi, GUINT_TO_POINTER(config->spi), a);
    }
}

CvswSasFault cvsw_sas_set(CvswSas *sas, uint32_t number,
                          const EspSaConfig *config, EspSaFault *fault)
{
    Association *old = find(sas->by_number, number), *other;
    EspSa *sa;

    if (old && is_same(old, config)) {
        return CVSW_SAS_OK;
    }
    if (!old && g_hash_table_size(sas->by_number) >= CVSW_SAS_MAX) {
        return CVSW_SAS_FULL;
    }
    other = config->direction == ESP_INBOUND ?
            find(sas->by_spi, config->spi) : NULL;
    if (other && other != old) {
        return CVSW_SAS_SPI_IN_USE;
    }
    sa = esp_sa_new(config, fault);
    if (!sa) {
        return CVSW_SAS_BAD;
    }
    if (old) {
        forget(sas, old);
    }
    remember(sas, number, config, sa);
    return CVSW_SAS_OK;
}

bool cvsw_sas_delete(CvswSas *sas, uint32_t number)
{
    Association *a = find(sas->by_number, number);

    if (!a) {
        return false;
    }
    forget(sas, a);
    return true;
}

EspSa *cvsw_sas_outbound(CvswSas *sas, uint32_t number)
{
    Association *a = find(sas->by_number, number);

    return a && a->config.direction == ESP_OUTBOUND ? a->sa : NULL;
}

EspSa *cvsw_sas_inbound(CvswSas *sas, uint32_t spi, uint32_t number)
{
    Association *a = find(sas->by_spi, spi);

    return a && (number == 0 || a->number == number) ? a->sa : NULL;
}

unsigned cvsw_sas_count(const CvswSas *sas)
{
    return g_hash_table_size(sas->by_number);
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t one = GPOINTER_TO_UINT(a), other = GPOINTER_TO_UINT(b);

    return one < other ? -1 : one > other;
}

void cvsw_sas_foreach(CvswSas *sas,
                      void (*func)(uint32_t number, const EspSaConfig *config,
                                   EspSa *sa, void *data),
                      void *data)
{
    g_autoptr(GList) numbers = g_hash_table_get_keys(sas->by_number);

    numbers = g_list_sort(numbers, compare_numbers);
    for (GList *l = numbers; l; l = l->next) {
        const Association *a = g_hash_table_lookup(sas->by_number, l->data);

        func(a->number, &a->config, a->sa, data);
    }
}
