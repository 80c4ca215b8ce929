//! The dates of JavaScript that `chrono` refers to; nothing in the module reads one, because each script has its own clock.

use wasm_bindgen::JsValue;

/// A date, in milliseconds since the epoch.
#[derive(Debug, Clone)]
pub struct Date(f64);

impl Date {
    /// Creates a date from milliseconds.
    #[must_use]
    pub fn new(milliseconds: &JsValue) -> Date {
        Date(milliseconds.as_f64())
    }

    /// Returns the epoch, since there is no clock.
    #[must_use]
    pub fn new_0() -> Date {
        Date(0.0)
    }

    /// Returns the epoch, since there is no calendar.
    #[must_use]
    pub fn new_with_year_month_day_hr_min_sec(_: u32, _: i32, _: i32, _: i32, _: i32, _: i32) -> Date {
        Date(0.0)
    }

    /// Returns the milliseconds since the epoch.
    #[must_use]
    pub fn get_time(&self) -> f64 {
        self.0
    }

    /// Returns the minutes from local time to UTC: none.
    #[must_use]
    pub fn get_timezone_offset(&self) -> f64 {
        0.0
    }
}
