//! Intent and state codes: the special codes, their comparison, and which scopes contain a place. (docs/spec/data-and-api.md#1.3)

/// The code of any intent or state.
pub const ANY: &str = "ANY";

/// The code of an unresolved intent or state.
pub const UNKNOWN: &str = "UNKNOWN";

/// Whether two codes are equal, ignoring case and surrounding white space.
///
/// ```
/// use convengine_config::{ANY, enclosing_scopes, is_same_code};
///
/// assert!(is_same_code(" order ", "ORDER"));
/// assert_eq!(enclosing_scopes("ORDER", "START")[1], ("ORDER", ANY), "the narrowest scope comes first");
/// ```
pub fn is_same_code(a: &str, b: &str) -> bool {
    let (a, b) = (a.trim(), b.trim());
    a.eq_ignore_ascii_case(b) || (!a.is_ascii() && to_upper_code(a) == to_upper_code(b))
}

/// Trims a code and converts it to upper case.
pub fn to_upper_code(code: &str) -> String {
    code.trim().to_uppercase()
}

/// The scopes that contain an intent and a state, narrowest first.
pub fn enclosing_scopes<'c>(intent: &'c str, state: &'c str) -> [(&'c str, &'c str); 4] {
    [(intent, state), (intent, ANY), (ANY, state), (ANY, ANY)]
}

/// Why a row of a scope does not apply to an intent and a state; `None` when it does.
pub fn mismatch_reason(own: (&str, &str), intent: &str, state: &str) -> Option<String> {
    let differs = |what, own: &str, here: &str| {
        let apart = !is_same_code(own, ANY) && !is_same_code(own, here);
        apart.then(|| format!("it is for the {what} {own}, and the {what} is {here}"))
    };
    let both: Vec<String> = [differs("intent", own.0, intent), differs("state", own.1, state)].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join("; "))
}
