//! Dates of the calendar, in UTC.

const DAY_MS: i64 = 86_400_000;

/// A moment in the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// The year.
    pub year: i64,
    month: i64,
    day: i64,
    second: i64,
}

impl Date {
    /// The moment so many milliseconds after 1970-01-01T00:00:00Z.
    pub fn of_millis(millis: i64) -> Date {
        let days = millis.div_euclid(DAY_MS);
        let second = millis.rem_euclid(DAY_MS) / 1000;
        // Years are counted from March, so that the leap day is the last of its year; 719,468 days lie between 0000-03-01 and 1970.
        let days = days + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Date { year, month, day, second }
    }

    /// The day, as `2026-01-31`.
    pub fn day(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// Day and time, as `2026-01-31T09:00:00Z`.
    pub fn day_and_time(self) -> String {
        format!("{}T{:02}:{:02}:{:02}Z", self.day(), self.second / 3600, self.second / 60 % 60, self.second % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::Date;

    #[test]
    fn moments_have_their_date() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_767_258_061_999, "2026-01-01T09:01:01Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-62_162_035_200_001, "0000-02-29T23:59:59Z"),
        ] {
            assert_eq!(Date::of_millis(millis).day_and_time(), expected, "{millis}");
        }
        assert_eq!(Date::of_millis(1_767_258_000_000).year, 2026);
    }
}
