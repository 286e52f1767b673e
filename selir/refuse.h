/* selir/refuse.h - what Python has and SelIR has not, each with what to write instead.
 * Uses: selir/diag.h.  Used by: lex, parse, check. */
#ifndef DT_SELIR_REFUSE_H
#define DT_SELIR_REFUSE_H

#include "selir/diag.h"

/* Columns: name, the construct, the advice. */
#define DT_REFUSALS(X) \
    X (COMPLEX, "a complex number", "use ints and floats") \
    X (FSTRING, "an f-string", "use a plain string: messages are static") \
    X (BYTES, "a bytes literal", "use a plain string") \
    X (ELLIPSIS, "'...'", "write 'pass' for an empty body") \
    X (WALRUS, "':='", "assign in a statement of its own, before this one") \
    X (LAMBDA, "a lambda other than key=lambda x: ...", "write a function with def at module level") \
    X (WHILE, "a while loop", "use 'for i in range (bound)' with a static bound, and break") \
    X (TRY, "try", "test for the condition with if before the operation") \
    X (WITH, "with", "a program opens nothing; remove it") \
    X (MATCH, "match", "use if, elif and else") \
    X (RAISE, "raise", "use require (condition, \"why\")") \
    X (ASSERT, "assert", "use require (condition, \"why\") or assume (condition, \"why\")") \
    X (DEL, "del", "leave the name as it is; nothing is stored") \
    X (GLOBAL, "global", "return the value, and assign it where it is used") \
    X (NONLOCAL, "nonlocal", "return the value, and assign it where it is used") \
    X (ASYNC, "async", "write a plain def or for") \
    X (AWAIT, "await", "call the function directly") \
    X (YIELD, "yield", "return a tuple or a list") \
    X (NESTED_DEF, "a def inside a function", "move the function to module level and pass what it needs") \
    X (NESTED_CLASS, "a class inside a function or class", "move the class to module level") \
    X (METHOD, "a method", "write a function at module level that takes the record") \
    X (LOCAL_IMPORT, "an import inside a function", "import at the top of the file") \
    X (IMPORT_STAR, "import *", "name what is imported") \
    X (RELATIVE_IMPORT, "a relative import", "import a sibling file by its plain name") \
    X (DECORATOR, "this decorator", "only @selection (family=\"...\") is known; call the function instead") \
    X (STAR_PARAM, "a starred parameter", "name each parameter") \
    X (STAR_ARG, "a starred argument", "pass each argument by itself") \
    X (STAR_EXPR, "a starred expression", "write each element, or join with '+'") \
    X (POSITIONAL_ONLY, "'/' among parameters", "leave it out") \
    X (SLICE, "a slice", "use a comprehension over range") \
    X (SET, "a set", "use a tuple; 'in' works on tuples") \
    X (SET_COMP, "a set comprehension", "use a list comprehension") \
    X (STORE_INDEX, "assignment to an element", "build a new list or tuple") \
    X (STORE_FIELD, "assignment to a field", "build a new record") \
    X (LOOP_ELSE, "else after a loop", "set a flag in the loop and test it after") \
    X (IS, "'is' with other than None", "use '=='") \
    X (MATMUL, "'@'", "a program works on numbers; remove it") \
    X (BARE_EXPR, "an expression whose value is not used", "assign it to a name, or remove it") \
    X (MODULE_STMT, "this statement at module level", "put it into a function; a module holds imports, constants, classes and functions") \
    X (CLASS_STMT, "this statement in a class", "a class holds fields only: 'name: type'") \
    X (FIELD_DEFAULT, "a default value of a field", "give the value where the record is made") \
    X (CLASS_BASE, "a class that is no Facts, Batch or Record", "derive it from exactly one of Facts, Batch and Record") \
    X (UNPARENTHESISED_GEN, "a generator expression by itself", "use a list comprehension: [... for ...]") \
    X (UNICODE_NAME, "a character outside ASCII in a name", "use letters, digits and '_'") \
    X (OPERATOR, "this operator", "see the grammar in selir's README") \
    X (LIST_INPLACE, "'+=' on a list, which changes it in place,", "write x = x + [...]") \
    X (ENCODING, "a source encoding other than UTF-8", "save the file as UTF-8 and remove the coding line")

enum dt_refusal {
#define X(name, what, advice) DT_REFUSE_##name,
    DT_REFUSALS (X)
#undef X
};

/* "WHAT is not in the language here" at a place; returns -DT_ESYNTAX. */
int dt_refuse (struct dt_err *reterr, const struct dt_source *src, struct dt_span at,
               enum dt_refusal what);

#endif
