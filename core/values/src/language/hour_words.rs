//! Words about the halves of the day, by language. They are folded; alternatives are separated by `|`.

/// The words of a language.
pub(crate) struct HourWords {
    code: &'static str,
    /// Words in a time, beside its numbers, that do not say in which half of the day it is: `at`, `half past`.
    pub neutral: &'static str,
    /// Phrases that say it, wherever they stand in a message: `in the morning`, `tonight`.
    pub halves: &'static str,
    /// Those of them that say the second half, and not perhaps the hours behind midnight: `afternoon`.
    pub afternoons: &'static str,
}

const ALL: [HourWords; 8] = [
    HourWords {
        code: "en",
        neutral: "at|by|around|about|o|clock|oclock|half|quarter|past|to|after|before|till|til|of|a|an|the|on|for|minutes|minute|mins|min|ish|sharp",
        halves: "morning|mornings|noon|midday|mid day|afternoon|afternoons|evening|evenings|night|nights|tonight|midnight|lunchtime|\
                 dawn|early|late",
        afternoons: "afternoon|afternoons|evening|evenings|tonight",
    },
    HourWords {
        code: "de",
        neutral: "um|gegen|uhr|halb|viertel|dreiviertel|nach|vor|so|circa|ca|etwa|ungefahr|punkt|genau|exakt|punktlich|puenktlich|schlag|auf|fur|und|\
                  minuten|minute|min|h|ein|am|an|den|der|dem|vom|zum",
        halves: "morgens|am morgen|der morgen|den morgen|dem morgen|diesen morgen|dieser morgen|jeden morgen|heute morgen|gestern morgen|montag morgen|\
                 dienstag morgen|mittwoch morgen|donnerstag morgen|freitag morgen|samstag morgen|sonnabend morgen|sonntag morgen|fruh|frueh|fruhe|fruhen|\
                 fruhmorgens|vormittag|vormittags|mittag|mittags|nachmittag|nachmittags|abend|abends|nacht|nachts|mitternacht|mitternachts|spat|spaet|pm",
        afternoons: "nachmittag|nachmittags|abend|abends",
    },
    HourWords {
        code: "es",
        neutral: "a|al|las|la|el|y|media|cuarto|menos|un|una|en|punto|horas|hora|h|hs|hrs|sobre|hacia|para|eso|de|del|minutos|min",
        halves: "la manana|las mananas|esta manana|tarde|tardes|noche|noches|anoche|esta noche|mediodia|medio dia|madrugada|medianoche|\
                 temprano|am|pm|a m|p m",
        afternoons: "tarde|tardes|noche|noches|esta noche",
    },
    HourWords {
        code: "fr",
        neutral: "a|vers|pour|heure|heures|h|et|demie|demi|quart|moins|le|la|un|une|environ|pile|precises|c|est|il|de|du|minutes|min",
        halves: "matin|matins|mat|matinee|midi|apres midi|aprem|soir|soirs|soiree|nuit|minuit|aube|tot|tard|am|pm",
        afternoons: "apres midi|aprem|soir|soirs|soiree",
    },
    HourWords {
        code: "it",
        neutral: "alle|all|la|le|l|ore|ora|h|e|mezza|mezzo|quarto|quarti|meno|un|una|verso|circa|intorno|attorno|in|punto|per|di|del|il|minuti|min",
        halves: "mattina|mattine|mattino|mattinata|stamattina|domattina|pomeriggio|pomeriggi|sera|sere|serata|stasera|notte|notti|stanotte|mezzogiorno|\
                 mezzanotte|mezza notte|alba|presto|tardi|am|pm",
        afternoons: "pomeriggio|pomeriggi|sera|sere|serata|stasera",
    },
    HourWords {
        code: "pt",
        neutral: "as|a|o|e|meia|meio|quarto|um|uma|menos|para|pra|pras|pelas|la|por|volta|das|em|ponto|horas|hora|h|hs|hrs|de|do|no|na|dia|minutos|min",
        halves: "manha|manhas|tarde|tardes|noite|noites|meio dia|meia noite|madrugada|cedo|am|pm",
        afternoons: "tarde|tardes|noite|noites",
    },
    HourWords {
        code: "nl",
        neutral: "om|uur|half|kwart|over|voor|rond|tegen|omstreeks|circa|ca|ongeveer|precies|stipt|een|op|de|het|van|minuten|minuut|min|h",
        halves: "ochtend|ochtends|sochtends|morgens|smorgens|de morgen|in de morgen|maandag morgen|dinsdag morgen|woensdag morgen|donderdag morgen|\
                 vrijdag morgen|zaterdag morgen|zondag morgen|vanmorgen|vanochtend|voormiddag|middag|middags|smiddags|vanmiddag|namiddag|namiddags|avond|\
                 avonds|savonds|vanavond|nacht|nachts|snachts|vannacht|middernacht|lunchtijd|vroeg|laat|am|pm",
        afternoons: "middag|middags|smiddags|vanmiddag|namiddag|namiddags|avond|avonds|savonds|vanavond",
    },
    HourWords {
        code: "hi",
        neutral: "बजे|बजें|बजकर|बजके|बज|कर|साढे|सवा|पौने|डेढ|ढाई|को|के|में|पर|करीब|करीबन|लगभग|तकरीबन|ठीक|मिनट|मिनिट",
        halves: "सुबह|सवेरे|परातः|परात|परातःकाल|तडके|भोर|पूरवाहन|दोपहर|दुपहर|अपराहन|शाम|सायं|सायंकाल|संधया|सांय|रात|रातरि|मधयरातरि|अरधरातरि|दिन में|\
                 दिन के",
        afternoons: "दोपहर|दुपहर|अपराहन|शाम|सायं|सायंकाल|संधया|सांय",
    },
];

/// The words of a language; those of English for one that is not known.
pub(crate) fn hour_words(code: &str) -> &'static HourWords {
    let [english, ..] = &ALL;
    ALL.iter().find(|it| it.code == code).unwrap_or(english)
}
