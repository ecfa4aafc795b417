/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers, times and addresses */
#include <string.h>

#include "dnsd/text/number.h"
#include "base/octets.h"

#define DAY_SECONDS     86400
#define ERA_DAYS        146097      /* 400 years of the Gregorian calendar */
#define EPOCH_DAYS      719468      /* days from 1 March of year 0 to 1970 */
#define YEAR_MIN        1900        /* BIND prints 2099 as a year before 1970 */
#define IPV6_GROUPS     8

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int64_t dns_number_parse(const char *text, size_t len, uint32_t max)
{
    uint64_t value = 0;

    if (!len) {
        return -1;
    }
    for (size_t i = 0; i < len; i++) {
        if (!is_digit(text[i])) {
            return -1;
        }
        value = value * 10 + text[i] - '0';
        if (value > max) {
            return -1;
        }
    }
    return value;
}

static uint32_t unit_of(char c)
{
    switch (c | 0x20) {
    case 'w':
        return 7 * DAY_SECONDS;
    case 'd':
        return DAY_SECONDS;
    case 'h':
        return 3600;
    case 'm':
        return 60;
    case 's':
        return 1;
    default:
        return 0;
    }
}

int64_t dns_ttl_parse(const char *text, size_t len)
{
    uint64_t sum = 0;
    size_t at = 0;

    if (len && is_digit(text[len - 1])) {
        return dns_number_parse(text, len, UINT32_MAX);
    }
    while (at < len) {
        size_t start = at;
        int64_t value;

        while (at < len && is_digit(text[at])) {
            at++;
        }
        value = dns_number_parse(text + start, at - start, UINT32_MAX);
        if (value < 0 || at == len || !unit_of(text[at])) {
            return -1;
        }
        sum += (uint64_t)value * unit_of(text[at++]);
        if (sum > UINT32_MAX) {
            return -1;
        }
    }
    return len ? (int64_t)sum : -1;
}

/* --- times --------------------------------------------------------------- */

/* A year begins in March here, so that a leap day is its last day. */
static int64_t days_of(int year, int month, int day)
{
    int y = year - (month <= 2);
    int era = y / 400, of_era = y % 400;
    int of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return (int64_t)era * ERA_DAYS + of_era * 365 + of_era / 4 -
           of_era / 100 + of_year - EPOCH_DAYS;
}

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 || year % 400 == 0);
}

static int month_days(int year, int month)
{
    static const uint8_t days[] = {
        31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
    };

    return days[month - 1] + (month == 2 && is_leap(year));
}

int64_t dns_time_parse(const char *text, size_t len)
{
    int year, month, day, hour, minute, second;

    if (len != DNS_TIME_TEXT_LEN) {
        return dns_number_parse(text, len, UINT32_MAX);
    }
    year = dns_number_parse(text, 4, 9999);
    month = dns_number_parse(text + 4, 2, 12);
    day = dns_number_parse(text + 6, 2, 31);
    hour = dns_number_parse(text + 8, 2, 23);
    minute = dns_number_parse(text + 10, 2, 59);
    second = dns_number_parse(text + 12, 2, 60);
    if (year < YEAR_MIN || month < 1 || day < 1 ||
        day > month_days(year, month) || hour < 0 || minute < 0 || second < 0) {
        return -1;
    }
    return (days_of(year, month, day) * DAY_SECONDS + hour * 3600 +
            minute * 60 + second) & UINT32_MAX;
}

static void put_digits(char *to, unsigned value, int count)
{
    while (count--) {
        to[count] = '0' + value % 10;
        value /= 10;
    }
}

void dns_time_print(uint32_t seconds, char text[DNS_TIME_TEXT_LEN])
{
    unsigned of_day = seconds % DAY_SECONDS;
    unsigned days = seconds / DAY_SECONDS + EPOCH_DAYS;
    unsigned era = days / ERA_DAYS, of_era = days % ERA_DAYS;
    unsigned year = (of_era - of_era / 1460 + of_era / 36524 -
                     of_era / (ERA_DAYS - 1)) / 365;
    unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
    unsigned month = (5 * of_year + 2) / 153;

    put_digits(text + 6, of_year - (153 * month + 2) / 5 + 1, 2);
    month += month < 10 ? 3 : -9;
    put_digits(text, era * 400 + year + (month <= 2), 4);
    put_digits(text + 4, month, 2);
    put_digits(text + 8, of_day / 3600, 2);
    put_digits(text + 10, of_day / 60 % 60, 2);
    put_digits(text + 12, of_day % 60, 2);
}

/* --- addresses ----------------------------------------------------------- */

bool dns_ipv4_parse(const char *text, size_t len, uint8_t addr[4])
{
    const char *at = text, *end = text + len;

    for (int i = 0; i < 4; i++) {
        const char *start = at;
        unsigned value = 0;

        while (at < end && is_digit(*at) && at - start < 3) {
            value = value * 10 + *at++ - '0';
        }
        if (at == start || value > UINT8_MAX ||
            (*start == '0' && at - start > 1)) {
            return false;
        }
        addr[i] = value;
        if (i < 3 && (at == end || *at++ != '.')) {
            return false;
        }
    }
    return at == end;
}

int dns_hex_digit(char c)
{
    if (is_digit(c)) {
        return c - '0';
    }
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/*
 * Read up to four digits.  Returns the text behind them; NULL without digits.
 */
static const char *read_group(const char *at, const char *end, uint8_t *to)
{
    const char *start = at;
    unsigned value = 0;

    while (at < end && at - start < 4 && dns_hex_digit(*at) >= 0) {
        value = value << 4 | dns_hex_digit(*at++);
    }
    put_be16(to, value);
    return at > start ? at : NULL;
}

/*
 * Read up to @max groups, before or behind "::".  Returns -1 at another "::".
 */
static int read_groups(const char *at, const char *end, uint8_t *to, int max)
{
    int count = 0;

    if (at == end) {
        return 0;
    }
    for (;;) {
        const char *behind;

        if (count + 2 <= max && memchr(at, '.', end - at) &&
            dns_ipv4_parse(at, end - at, to + 2 * count)) {
            return count + 2;
        }
        behind = count < max ? read_group(at, end, to + 2 * count) : NULL;
        if (!behind) {
            return -1;
        }
        count++;
        if (behind == end) {
            return count;
        }
        if (*behind != ':') {
            return -1;
        }
        at = behind + 1;
    }
}

static const char *find_gap(const char *text, size_t len)
{
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] == ':' && text[i + 1] == ':') {
            return text + i;
        }
    }
    return NULL;
}

bool dns_ipv6_parse(const char *text, size_t len, uint8_t addr[16])
{
    const char *end = text + len, *gap = find_gap(text, len);
    uint8_t tail[16];
    int before, behind;

    if (!gap) {
        return read_groups(text, end, addr, IPV6_GROUPS) == IPV6_GROUPS;
    }
    if (memchr(text, '.', gap - text)) {
        return false;
    }
    before = read_groups(text, gap, addr, IPV6_GROUPS - 1);
    behind = before < 0 ? -1 :
             read_groups(gap + 2, end, tail, IPV6_GROUPS - 1 - before);
    if (behind < 0) {
        return false;
    }
    memset(addr + 2 * before, 0, 16 - 2 * before);
    memcpy(addr + 16 - 2 * behind, tail, 2 * behind);
    return true;
}

bool dns_groups_parse(const char *text, size_t len, uint8_t *to,
                      unsigned count)
{
    if (len != 3 * count - 1) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        int high = dns_hex_digit(text[3 * i]);
        int low = dns_hex_digit(text[3 * i + 1]);

        if (high < 0 || low < 0 || (i + 1 < count && text[3 * i + 2] != '-')) {
            return false;
        }
        to[i] = high << 4 | low;
    }
    return true;
}

bool dns_locator_parse(const char *text, size_t len, uint8_t to[8])
{
    return !memchr(text, '.', len) &&
           read_groups(text, text + len, to, 4) == 4;
}
