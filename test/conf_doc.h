/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages made from tables, which only the build prints: mdoc, to stdout. */
#ifndef TEST_CONF_DOC_H
#define TEST_CONF_DOC_H

void plan_class_print_man(void); /* plan_class_spec.xml(5) */
void tmpl_print_man(void);       /* locus-template(5) */

#endif
