//! Number format patterns: `0`, `0.00`, `#,##0.00`, `0%`.

use convengine_values::{NumberMarks, number_marks};
use serde_json::Number;

use crate::value::decimal::Decimal;

/// The most digits after the point.
const MAX_PLACES: usize = 20;

/// How a number is formatted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NumberFormat {
    /// Whether thousands are grouped.
    has_grouping: bool,
    /// The fewest digits after the point.
    min_places: usize,
    /// The most digits after the point.
    max_places: usize,
    is_percent: bool,
}

impl NumberFormat {
    /// Parses a pattern.
    pub fn parse(source: &str) -> Option<NumberFormat> {
        let (body, percent) = source.strip_suffix('%').map_or((source, false), |it| (it, true));
        let (whole, fraction) = match body.split_once('.') {
            Some((_, "")) => return None,
            Some(split) => split,
            None => (body, ""),
        };
        let zeros = fraction.trim_end_matches('#');
        let groups = match whole {
            "0" => false,
            "#,##0" => true,
            _ => return None,
        };
        let fits = fraction.len() <= MAX_PLACES && zeros.bytes().all(|it| it == b'0');
        fits.then_some(NumberFormat { has_grouping: groups, min_places: zeros.len(), max_places: fraction.len(), is_percent: percent })
    }

    /// Formats a number with the separators of a locale.
    pub fn format(self, number: &Number, locale: &str) -> String {
        let NumberMarks { decimal: point, group, has_pairs } = number_marks(locale);
        let group = if self.has_grouping { group.to_string() } else { String::new() };
        let decimal = Decimal::new(number, if self.is_percent { 2 } else { 0 }).round(self.max_places);
        let mut text = decimal.print(&group, has_pairs, &point.to_string(), self.min_places);
        if self.is_percent {
            text.push('%');
        }
        text
    }
}
