//! Points in time as text.

/// Milliseconds since 1970 as ISO-8601 text in UTC, such as `2026-01-02T03:04:05.678Z`.
pub fn iso(millis: i64) -> String {
    const DAY: i64 = 86_400_000;
    let (year, month, day) = date(millis.div_euclid(DAY));
    let of_day = millis.rem_euclid(DAY);
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", of_day % 1000)
}

/// Year, month and day of a day since 1970. Years are counted from March, so that a leap day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    let since = days + 719_468;
    let (era, of_era) = (since.div_euclid(ERA), since.rem_euclid(ERA));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / (ERA - 1)) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::iso;

    #[test]
    fn dates_follow_the_calendar() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_767_323_045_678, "2026-01-02T03:04:05.678Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(iso(millis), text);
        }
    }
}
