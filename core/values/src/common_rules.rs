//! Rules that all languages share.

use crate::action::Action;
use crate::category::Category;

/// Rules by what they make.
pub(crate) const RULES: &[(Category, &[(&str, Action)])] = &[
    (
        Category::Time,
        &[
            ("{hour} : {digits} (: {digits})? {part}?", Action::Clock),
            ("{hour} (.)? {digits} {part}", Action::Clock),
            ("{hour} {part}", Action::Clock),
        ],
    ),
    (
        Category::DateTime,
        &[("{date} (,)? {time}", Action::Join), ("{time} (,)? {date}", Action::Join), ("{date} t {time} z?", Action::Join)],
    ),
    (Category::Duration, &[("{span}", Action::Same), ("{span} (,)? {duration}", Action::Sum)]),
    (Category::DateRange, &[("{date} - {date}", Action::FromTo), ("{day} - {day} {month} {year}?", Action::DaysOfMonth)]),
    (Category::TimeRange, &[("{time} - {time}", Action::FromTo)]),
    (
        Category::ValueRange,
        &[
            ("{value} - {value}", Action::FromTo),
            ("(≥|> =) {value}", Action::From),
            ("(≤|< =) {value}", Action::Until),
            ("{value} +", Action::From),
        ],
    ),
];
