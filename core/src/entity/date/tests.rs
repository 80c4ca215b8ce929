use super::*;

/// Wednesday, 2026-01-28, at noon.
const NOW: i64 = 1_769_601_600_000;

fn find_day(text: &str, locale: &str) -> String {
    find(text, ExtractionContext { locale, now: NOW, time_zone: "UTC" }).map(|it| it.0).unwrap_or_default()
}

#[test]
fn days_are_found() {
    for (text, locale, expected) in [
        ("2026-03-05", "en-US", "2026-03-05"),
        ("2026-03-05T10:20:00Z", "en-US", "2026-03-05"),
        ("on 2026/3/5, please", "de", "2026-03-05"),
        ("3/4/2026", "en-US", "2026-03-04"),
        ("3/4/2026", "en-GB", "2026-04-03"),
        ("3/4", "en", "2026-03-04"),
        ("3/4", "fr-FR", "2026-04-03"),
        ("1/2", "en-US", "2027-01-02"),
        ("28/1", "en-GB", "2026-01-28"),
        ("27/1", "en-GB", "2027-01-27"),
        ("3.4.2026", "de-DE", "2026-04-03"),
        ("am 3.4.", "de-DE", "2026-04-03"),
        ("3.4", "de-DE", "2026-04-03"),
        ("03-04-2026", "nl", "2026-04-03"),
        ("3/4/26", "en-US", "2026-03-04"),
        ("12/5/85", "en-US", "1985-12-05"),
        ("29/2", "en-GB", "2028-02-29"),
        ("5 March", "en-US", "2026-03-05"),
        ("5th of March 2027", "en-US", "2027-03-05"),
        ("March 5, 2027", "en-US", "2027-03-05"),
        ("Mar. 5th", "en-US", "2026-03-05"),
        ("jan 5", "en-US", "2027-01-05"),
        ("it is sept 1st.", "en", "2026-09-01"),
        ("5-Mar-2027", "en", "2027-03-05"),
        ("5. März 2027", "de", "2027-03-05"),
        ("am 5. Mai", "de", "2026-05-05"),
        ("5 de marzo de 2027", "es", "2027-03-05"),
        ("el 5 de enero", "es", "2027-01-05"),
        ("le 1er août", "fr", "2026-08-01"),
        ("5 dicembre", "it", "2026-12-05"),
        ("1º de março", "pt-BR", "2026-03-01"),
        ("5 maart 2026", "nl", "2026-03-05"),
        ("today", "en", "2026-01-28"),
        ("Tomorrow!", "en", "2026-01-29"),
        ("yesterday", "en", "2026-01-27"),
        ("the day after tomorrow", "en", "2026-01-30"),
        ("heute", "de", "2026-01-28"),
        ("übermorgen", "de", "2026-01-30"),
        ("morgen", "nl", "2026-01-29"),
        ("mañana", "es", "2026-01-29"),
        ("pasado mañana", "es", "2026-01-30"),
        ("aujourd'hui", "fr", "2026-01-28"),
        ("après-demain", "fr", "2026-01-30"),
        ("domani", "it", "2026-01-29"),
        ("amanhã", "pt", "2026-01-29"),
        ("Thursday", "en", "2026-01-29"),
        ("next wednesday", "en", "2026-02-04"),
        ("Wednesday, March 5, 2025", "en", "2025-03-05"),
        ("Mittwoch, den 5. März", "de", "2026-03-05"),
        ("monday the 2nd", "en", "2026-02-02"),
        ("on tue", "en", "2026-02-03"),
        ("am Montag", "de", "2026-02-02"),
        ("sábado", "es", "2026-01-31"),
        ("dimanche", "fr", "2026-02-01"),
        ("lunedì", "it", "2026-02-02"),
        ("sexta-feira", "pt", "2026-01-30"),
        ("vrijdag", "nl", "2026-01-30"),
        ("in 3 days", "en", "2026-01-31"),
        ("in a week", "en", "2026-02-04"),
        ("in two weeks", "en", "2026-02-11"),
        ("in 1 month", "en", "2026-02-28"),
        ("in 13 months", "en", "2027-02-28"),
        ("in a year", "en", "2027-01-28"),
        ("3 days from now", "en", "2026-01-31"),
        ("two weeks from today", "en", "2026-02-11"),
        ("in 3 Tagen", "de", "2026-01-31"),
        ("in einer Woche", "de", "2026-02-04"),
        ("dentro de 2 semanas", "es", "2026-02-11"),
        ("dans 3 jours", "fr", "2026-01-31"),
        ("tra 3 giorni", "it", "2026-01-31"),
        ("daqui a 2 meses", "pt", "2026-03-28"),
        ("over 3 dagen", "nl", "2026-01-31"),
    ] {
        assert_eq!(find_day(text, locale), expected, "{text} {locale}");
    }
}

#[test]
fn days_are_those_of_the_time_zone() {
    for (text, now, time_zone, expected) in [
        // 2026-01-28 at noon; midnight is near on both sides of the date line.
        ("today", NOW, "Pacific/Auckland", "2026-01-29"),
        ("tomorrow", NOW, "Pacific/Auckland", "2026-01-30"),
        ("today", NOW, "Pacific/Pago_Pago", "2026-01-28"),
        ("today", NOW - 7_200_000, "Pacific/Pago_Pago", "2026-01-27"),
        // 2026-03-28 at 23:30: Sunday has begun in Berlin, and it has 23 hours.
        ("tomorrow", 1_774_740_600_000, "UTC", "2026-03-29"),
        ("tomorrow", 1_774_740_600_000, "Europe/Berlin", "2026-03-30"),
        ("Sunday", 1_774_740_600_000, "Europe/Berlin", "2026-04-05"),
        ("in a week", 1_774_740_600_000, "Europe/Berlin", "2026-04-05"),
        ("28/3", 1_774_740_600_000, "Europe/Berlin", "2027-03-28"),
        // 2026-10-25 at 22:30 and 23:00: the day had 25 hours.
        ("today", 1_792_967_400_000, "Europe/Berlin", "2026-10-25"),
        ("today", 1_792_969_200_000, "Europe/Berlin", "2026-10-26"),
        ("today", 1_774_740_600_000, "Mars/Base", "2026-03-28"),
        ("2026-03-28T23:30:00Z", NOW, "Europe/Berlin", "2026-03-29"),
        ("2026-03-28T23:30:00+01:00", NOW, "Asia/Kolkata", "2026-03-28"),
    ] {
        let found = find(text, ExtractionContext { locale: "en-GB", now, time_zone }).map(|it| it.0);
        assert_eq!(found.as_deref(), Some(expected), "{text} {now} {time_zone}");
    }
}

#[test]
fn other_texts_are_not_days() {
    for (text, locale) in [
        ("", "en"),
        ("soon", "en"),
        ("31 Feb", "en"),
        ("30/2/2026", "en-GB"),
        ("29 February 2026", "en"),
        ("13/13/2026", "en-US"),
        ("13/4/2026", "en-US"),
        ("2026-13-01", "en"),
        ("2026-02-30", "en"),
        ("0/1", "en"),
        ("3.4", "en"),
        ("3-4", "nl"),
        ("1/2/3/4", "en"),
        ("5", "en"),
        ("march", "en"),
        ("March 2027", "en"),
        ("3 days", "en"),
        ("3 days ago", "en"),
        ("in 3 hours", "en"),
        ("last friday", "en"),
        ("day before yesterday", "en"),
        ("avant-hier", "fr"),
        ("lundi dernier", "fr"),
        ("el lunes pasado", "es"),
        ("Guten Morgen", "de"),
        ("mondays", "en"),
        ("12345-01-01", "en"),
        ("in 99999999 days", "en"),
        ("in 4000000 weeks", "en"),
        ("1.2.3.4", "de"),
        ("5 juice", "en"),
        ("heute", "fr"),
    ] {
        assert_eq!(find_day(text, locale), "", "{text} {locale}");
    }
}

#[test]
fn days_survive_a_round_trip() {
    for day in (-719_162..2_932_896).step_by(97) {
        let date = Date::from_millis(day * DAY_MS);
        assert_eq!(days_since_epoch(date.year, date.month, date.day), Some(day));
    }
    for now in [i64::MIN, i64::MAX, -62_200_000_000_000] {
        for time_zone in ["UTC", "Europe/Berlin"] {
            for text in ["today", "in 2 months", "5 May"] {
                let _ = find(text, ExtractionContext { locale: "en", now, time_zone });
            }
        }
    }
}
