//! Keeps what the grammar of values has read, because the slots of an intent read one message for several types.

use std::sync::{Mutex, PoisonError};

use convengine_values::{Context, Parse};
use jiff::civil::DateTime;

/// How many texts are kept: a message with and without its punctuation, in two directions of time.
const CAPACITY: usize = 4;

/// The texts that were read last, with what was found in them.
#[derive(Default)]
pub struct ParseCache {
    parses: Mutex<Vec<CachedParse>>,
}

struct CachedParse {
    text: String,
    locale: String,
    now: DateTime,
    direction: convengine_values::Direction,
    parse: Parse,
}

impl ParseCache {
    /// Reads a text, with what was found in it before.
    pub(super) fn read<T>(&self, text: &str, context: &Context<'_>, read: impl FnOnce(&mut Parse) -> T) -> T {
        let mut parses = self.parses.lock().unwrap_or_else(PoisonError::into_inner);
        let known = parses.iter().position(|parse| parse.text == text && parse.context() == *context);
        let place = known.unwrap_or_else(|| {
            parses.truncate(CAPACITY - 1);
            parses.insert(0, CachedParse::new(text, context));
            0
        });
        match parses.get_mut(place) {
            Some(cached) => read(&mut cached.parse),
            None => read(&mut Parse::new(text, context)),
        }
    }
}

impl CachedParse {
    fn new(text: &str, context: &Context<'_>) -> CachedParse {
        CachedParse {
            text: text.to_owned(),
            locale: context.locale.to_owned(),
            now: context.now,
            direction: context.direction,
            parse: Parse::new(text, context),
        }
    }

    fn context(&self) -> Context<'_> {
        Context { locale: &self.locale, now: self.now, direction: self.direction }
    }
}

#[cfg(test)]
mod tests {
    use convengine_values::{Direction, Kind};

    use super::*;

    #[test]
    fn a_text_is_read_again_when_the_context_is_another() {
        let cache = ParseCache::default();
        let context = Context { locale: "en-US", now: DateTime::constant(2026, 3, 4, 0, 0, 0, 0), direction: Direction::Future };
        let day = |context: &Context<'_>| cache.read("5 March", context, |parse| parse.read(Kind::Date)).remove(0).value;
        for _ in 0..2 {
            assert_eq!(day(&context), "2026-03-05");
            assert_eq!(day(&Context { direction: Direction::Past, ..context }), "2025-03-05");
            assert_eq!(day(&Context { now: DateTime::constant(2027, 1, 1, 0, 0, 0, 0), ..context }), "2027-03-05");
        }
        assert_eq!(cache.read("5 March", &context, |it| it.read(Kind::Number)), []);
    }
}
