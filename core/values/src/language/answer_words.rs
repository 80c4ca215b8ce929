//! Words with which people answer a question for a day or a time, by language. They are folded; alternatives are separated by `|`.
//!
//! Alone they are often other words as well, so they say a day or a time only as the whole answer.

/// The words of a language.
pub(crate) struct AnswerWords {
    code: &'static str,
    /// Phrases before and behind an answer that change nothing: `please`.
    pub fillers: &'static str,
    /// What stands before and behind an hour in a sentence: `at` 4.
    pub hour: (&'static str, &'static str),
    /// Words for twelve o'clock that are a part of the day elsewhere.
    pub noon: &'static str,
    /// What stands before an ordinal that is a day of a month; empty where no other words are needed.
    pub day: &'static str,
    /// Words before such an ordinal in an answer.
    pub articles: &'static str,
    /// Short names of weekdays, each with its name. What begins with a capital letter here is another word without one.
    pub weekdays: &'static [(&'static str, &'static str)],
}

const ALL: [AnswerWords; 8] = [
    AnswerWords {
        code: "en",
        fillers: "please|thanks|thank you",
        hour: ("at ", ""),
        noon: "",
        day: "on the ",
        articles: "the|on the",
        weekdays: &[
            ("mon", "monday"),
            ("tue|tues", "tuesday"),
            ("wed|weds", "wednesday"),
            ("thu|thur|thurs", "thursday"),
            ("fri", "friday"),
            ("sat", "saturday"),
            ("sun", "sunday"),
        ],
    },
    AnswerWords {
        code: "de",
        fillers: "bitte|danke|gern|gerne",
        hour: ("um ", ""),
        noon: "mittags|mittag|am mittag|zu mittag",
        day: "am ",
        articles: "der|den|dem|zum",
        weekdays: &[
            ("mo", "montag"),
            ("di", "dienstag"),
            ("mi", "mittwoch"),
            ("do", "donnerstag"),
            ("fr", "freitag"),
            ("sa", "samstag"),
            ("So", "sonntag"),
        ],
    },
    AnswerWords {
        code: "es",
        fillers: "por favor|gracias|las|la",
        hour: ("a las ", ""),
        noon: "",
        day: "",
        articles: "",
        weekdays: &[
            ("lun", "lunes"),
            ("mar", "martes"),
            ("mie|mier", "miercoles"),
            ("jue|juev", "jueves"),
            ("vie", "viernes"),
            ("sab", "sabado"),
            ("dom", "domingo"),
        ],
    },
    AnswerWords {
        code: "fr",
        fillers: "s il vous plait|s il te plait|svp|merci",
        hour: ("à ", " heures"),
        noon: "",
        day: "",
        articles: "",
        weekdays: &[
            ("lun", "lundi"),
            ("mar", "mardi"),
            ("mer", "mercredi"),
            ("jeu", "jeudi"),
            ("ven|vend", "vendredi"),
            ("sam", "samedi"),
            ("dim", "dimanche"),
        ],
    },
    AnswerWords {
        code: "it",
        fillers: "per favore|per piacere|grazie",
        hour: ("alle ", ""),
        noon: "",
        day: "",
        articles: "",
        weekdays: &[
            ("lun", "lunedi"),
            ("mar", "martedi"),
            ("mer", "mercoledi"),
            ("gio", "giovedi"),
            ("ven", "venerdi"),
            ("sab", "sabato"),
            ("dom", "domenica"),
        ],
    },
    AnswerWords {
        code: "pt",
        fillers: "por favor|obrigado|obrigada",
        hour: ("às ", ""),
        noon: "",
        day: "",
        articles: "",
        weekdays: &[
            ("seg", "segunda-feira"),
            ("ter", "terça-feira"),
            ("qua", "quarta-feira"),
            ("qui", "quinta-feira"),
            ("sex", "sexta-feira"),
            ("sab", "sábado"),
            ("dom", "domingo"),
        ],
    },
    AnswerWords {
        code: "nl",
        fillers: "alsjeblieft|alstublieft|aub|graag|dank je|dank u|bedankt",
        hour: ("om ", ""),
        noon: "",
        day: "",
        articles: "",
        weekdays: &[
            ("ma", "maandag"),
            ("di", "dinsdag"),
            ("wo", "woensdag"),
            ("do", "donderdag"),
            ("vr", "vrijdag"),
            ("za", "zaterdag"),
            ("zo", "zondag"),
        ],
    },
    AnswerWords {
        code: "hi",
        fillers: "कृपया|धनयवाद|शुकरिया",
        hour: ("", " बजे"),
        noon: "",
        day: "",
        articles: "",
        weekdays: &[
            ("सोम", "सोमवार"),
            ("मंगल", "मंगलवार"),
            ("बुध", "बुधवार"),
            ("गुरु", "गुरुवार"),
            ("शुकर", "शुक्रवार"),
            ("शनि", "शनिवार"),
            ("रवि", "रविवार"),
        ],
    },
];

/// The words of a language; those of English for one that is not known.
pub(crate) fn answer_words(code: &str) -> &'static AnswerWords {
    let [english, ..] = &ALL;
    ALL.iter().find(|it| it.code == code).unwrap_or(english)
}
