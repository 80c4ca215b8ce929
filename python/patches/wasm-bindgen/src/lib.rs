//! The value of JavaScript that `chrono` creates for a date.

/// A number.
#[derive(Debug, Clone, Copy)]
pub struct JsValue(f64);

impl JsValue {
    /// Creates a value from a number.
    #[must_use]
    pub fn from_f64(number: f64) -> JsValue {
        JsValue(number)
    }

    /// Returns the number.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0
    }
}
