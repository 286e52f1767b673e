/* tests/test_dispatch.c - every request has its row; texts are checked. */
#include <string.h>

#include "base/mem.h"
#include "detentd/dispatch.h"
#include "tests/suite.h"

START_TEST (every_request_has_a_row)
{
    const ProtobufCMessageDescriptor *m = &detent__request__descriptor;

    for (unsigned i = 0; i < m->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->fields[i];
        const struct dt_method *row = dt_method_get (f->id);

        if (!(f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF))
            continue;
        ck_assert_msg (row != NULL, "%s has no row", f->name);
        ck_assert_str_eq (row->name, f->name);
        ck_assert_int_ge (row->role, DT_ROLE_READ);
    }
    ck_assert_ptr_null (dt_method_get (0));
    ck_assert_ptr_null (dt_method_get (9));
    ck_assert_ptr_null (dt_method_get (1000000));
}
END_TEST

static const struct {
    const char *text;
    int want;
} texts[] = {
    { "plain", 0 },
    { "two\nlines\tand a tab", 0 },
    { "f\xc3\xbcr \xe2\x82\xac \xf0\x9f\x98\x80", 0 },
    { "", -DT_EINPUT },
    { "a\x01", -DT_EINPUT },
    { "\x1b[31m", -DT_EINPUT },
    { "\x7f", -DT_EINPUT },
    { "\xc2\x9b", -DT_EINPUT },         /* C1 */
    { "\xc0\xaf", -DT_EINPUT },         /* overlong */
    { "\xed\xa0\x80", -DT_EINPUT },     /* a surrogate */
    { "\xf4\x90\x80\x80", -DT_EINPUT }, /* above 10ffff */
    { "\xe2\x82", -DT_EINPUT },         /* cut off */
    { "\xff", -DT_EINPUT },
    { "0123456789012345678901234567890123456789", -DT_ELIMIT },
};

START_TEST (text)
{
    struct dt_err err = { "" };

    ck_assert_int_eq (dt_check_text ("message", texts[_i].text, 39, &err), texts[_i].want);
}
END_TEST

int main (void)
{
    Suite *s = suite_create ("detentd/dispatch");
    TCase *tc = tcase_create ("dispatch");

    tcase_add_test (tc, every_request_has_a_row);
    tcase_add_loop_test (tc, text, 0, DT_ARRAY_SIZE (texts));
    suite_add_tcase (s, tc);
    return suite_run (s);
}
