//! Formulas: template expressions whose value keeps its type, with decimal arithmetic.

use serde_json::Value;

use super::evaluate::TemplateEvaluator;
use super::expression::TemplateExpr;
use super::parse::{Grammar, parse_expression, unexpected_error};
use super::variables::collect_expression_variables;
use crate::scanner::CharScanner;
use crate::value::FORMULA;

/// A compiled formula.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula(TemplateExpr);

impl Formula {
    /// Compiles an expression in the syntax of `${…}`.
    ///
    /// # Errors
    /// The syntax error.
    pub fn compile(source: &str) -> Result<Formula, String> {
        let mut scan = CharScanner::new(source);
        let read = parse_expression(&mut scan, Grammar::Inner)?;
        if scan.rest.is_empty() { Ok(Formula(read)) } else { Err(unexpected_error(&scan)) }
    }

    /// Returns the dotted paths that the formula reads, sorted.
    pub fn names(&self) -> Vec<String> {
        collect_expression_variables(&self.0)
    }

    /// Evaluates the formula. Arithmetic uses decimals of 15 digits, so that 1 / 2 is 0.5 and never 0.
    ///
    /// # Errors
    /// Why there is no value, such as a division by zero.
    pub fn evaluate<'v>(&self, lookup: &dyn Fn(&str) -> Option<&'v Value>) -> Result<Value, String> {
        TemplateEvaluator::new(lookup, &FORMULA).evaluate(&self.0, None).map(std::borrow::Cow::into_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn value(source: &str) -> Result<Value, String> {
        let document = json!({"principal": 200, "rate": 5, "name": "Ada", "args": {"n": 3}, "big": i64::MAX});
        Formula::compile(source)?.evaluate(&|name| document.get(name))
    }

    #[test]
    fn arithmetic_is_decimal_and_values_keep_their_type() {
        for (source, expected) in [
            ("principal * rate / 100", json!(10.0)),
            ("0.1 + 0.2", json!(0.3)),
            ("19.99 * 3", json!(59.97)),
            ("9007199254740993 + 1", json!(9_007_199_254_740_994_i64)),
            ("big + 1", json!(9_223_372_036_854_780_000_f64)),
            ("7 % 4", json!(3.0)),
            ("2.5 * 2", json!(5.0)),
            ("1 / 2", json!(0.5)),
            ("principal", json!(200)),
            ("args.n + 1", json!(4.0)),
            ("principal > 100 ? 'high' : 'low'", json!("high")),
            ("#numbers.round(principal / 3, 2)", json!(66.67)),
            ("#numbers.round(-2.5, 0)", json!(-3.0)),
            ("#numbers.min(rate, 3.5)", json!(3.5)),
            ("#numbers.max(rate, args.n)", json!(5)),
            ("#numbers.abs(3 - 5)", json!(2.0)),
            ("'Dear ' + name", json!("Dear Ada")),
            ("missing", json!(null)),
        ] {
            assert_eq!(value(source), Ok(expected), "{source}");
        }
    }

    #[test]
    fn names_are_the_paths_that_are_read() {
        let formula = Formula::compile("context.price * n > args['limit'].max ? #numbers.abs(fee) : 0").unwrap();
        assert_eq!(formula.names(), ["args.limit.max", "context.price", "fee", "n"]);
    }

    #[test]
    fn failed_formulas_return_a_message() {
        for (source, expected) in [
            ("principal / 0", "divided by zero"),
            ("name * 2", "cannot calculate with a string"),
            ("missing + 1", "cannot be added"),
            ("big * big * 1e300 * 1e300", "too large"),
            ("#numbers.round(1, 99)", "from 0 to 12"),
            ("principal +", "ends too early"),
            ("principal )", "was not expected"),
        ] {
            let error = value(source).unwrap_err();
            assert!(error.contains(expected), "{source}: {error}");
        }
    }
}
