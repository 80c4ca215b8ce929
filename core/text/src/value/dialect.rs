//! The languages of the configuration, by what a value means in them.

use super::arithmetic::NumberForm;
use super::equality::NumericTexts;
use super::order::Orderable;
use super::text::TextForm;
use super::truth::Truth;

/// What a value means in a language of the configuration. Numbers are equal by value at any depth in all of them, and texts are
/// case-sensitive unless `folds_case`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Which values are true.
    pub truth: Truth,
    /// The words for true and false, in lower case; a text is compared with them without its surrounding white space and in any case.
    pub words: &'static [(&'static str, bool)],
    /// Whether a boolean equals a word for it.
    pub words_are_booleans: bool,
    /// Which texts equal a number.
    pub numeric_texts: NumericTexts,
    /// Whether a missing value equals null.
    pub missing_is_null: bool,
    /// Whether texts are equal in any case.
    pub folds_case: bool,
    /// Which values have an order.
    pub orderable: Orderable,
    /// The form of calculated numbers.
    pub numbers: NumberForm,
    /// How a value is printed.
    pub text: TextForm,
}

/// Conditions and computed values of flow documents, and their templates. (docs/reference/expressions.md)
pub const EXPRESSION: Dialect = Dialect {
    truth: Truth::Value { empty: false, zero: false, zero_text: false },
    words: &[("true", true), ("yes", true), ("false", false), ("no", false)],
    words_are_booleans: true,
    numeric_texts: NumericTexts::Digits,
    missing_is_null: true,
    folds_case: false,
    orderable: Orderable { texts: true, numeric_texts: true, booleans: false, null_first: false, equals: false },
    numbers: NumberForm::Decimal { keeps_whole: true },
    text: TextForm::Shortest,
};

/// `var.name == some words`, a form of conditions of flow documents.
pub const WORDS: Dialect = Dialect { folds_case: true, ..EXPRESSION };

/// Templates of table rows. (docs/reference/templates.md)
pub const TEMPLATE: Dialect = Dialect {
    truth: Truth::Value { empty: true, zero: false, zero_text: true },
    words: &[("true", true), ("yes", true), ("on", true), ("false", false), ("no", false), ("off", false)],
    words_are_booleans: false,
    numeric_texts: NumericTexts::None,
    missing_is_null: true,
    folds_case: false,
    orderable: Orderable { texts: true, numeric_texts: false, booleans: true, null_first: true, equals: false },
    numbers: NumberForm::Native,
    text: TextForm::Java,
};

/// Formulas of tools: template expressions whose result keeps its type.
pub const FORMULA: Dialect = Dialect { numbers: NumberForm::Decimal { keeps_whole: false }, ..TEMPLATE };

/// Filters of the paths of table rows. (docs/reference/json-paths.md)
pub const ROW_PATH: Dialect = Dialect {
    truth: Truth::Present,
    words: &[],
    words_are_booleans: false,
    numeric_texts: NumericTexts::Any,
    missing_is_null: true,
    folds_case: false,
    orderable: Orderable { texts: false, numeric_texts: false, booleans: false, null_first: false, equals: false },
    numbers: NumberForm::Native,
    text: TextForm::Java,
};

/// Paths that select the row of a progress message.
pub const PROGRESS: Dialect =
    Dialect { truth: Truth::Value { empty: false, zero: true, zero_text: true }, words: &[("false", false)], ..ROW_PATH };

/// Queries of flow documents, as RFC 9535 has it.
pub const QUERY: Dialect = Dialect {
    numeric_texts: NumericTexts::None,
    missing_is_null: false,
    orderable: Orderable { texts: true, equals: true, ..ROW_PATH.orderable },
    text: TextForm::Shortest,
    ..ROW_PATH
};

/// JSON Schema.
pub const SCHEMA: Dialect = Dialect { orderable: ROW_PATH.orderable, ..QUERY };
