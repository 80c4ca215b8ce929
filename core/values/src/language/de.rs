//! German.

use super::command_words::CommandWords;
use super::{Consent, Language, NumberWords, RangeWords, Veto};
use crate::action::Action;
use crate::calendar::{Part, Unit};
use crate::category::Category;
use crate::kind::Kind;

/// A pattern with what may follow a time without being part of it: the end, or one of these words.
macro_rules! followed {
    ($pattern:literal) => {
        concat!(
            $pattern,
            " ($|=am|=an|=auf|=bei|=beim|=im|=in|=zu|=zum|=zur|=mit|=fur|=vor|=nach|=und|=oder|=aber|=wenn|=weil|=dass|=heute|=morgen|=ubermorgen|\
             =gestern|=bitte|=danke|=gerne|=gern|=ist|=sind|=ware|=waere|=war|=passt|=geht|=ginge|=hatte|=haette|=habe|=haben|=kann|=konnen|=konnte|=mochte|\
             =komme|=kommen|=kommt|=vorbei|=da|=dort|=los|=anfangen|=beginnen|=beginnt|=starten|=startet|=abholen|=treffen|=essen|=sein|=ab|=ein|\
             =reservieren|=buchen|=anrufen|=frei|=ich|=wir|=sie|=er|=es|=montag|=dienstag|=mittwoch|=donnerstag|=freitag|=samstag|=sonntag|=loslegen|\
             =abreisen|=anreisen|=aufstehen|=erreichbar|=zuruckrufen|=zuruck|=vereinbaren|=planen|=bin|=bist|=werde|=werden|=will|=wollen|=mochten|=treffe|=gehe|=gehen|=fahre|=fahren|=muss|=mussen|=soll|=sollen|=wurde|=wieder|=hier|=zuhause|=erst|=dann|=lieber|=eine|=einen|=stattfinden|=losfahren|=abfahren|=ankommen|=nicht)"
        )
    };
}

/// A pattern with what may follow a day of a month without being part of it.
macro_rules! day_followed {
    ($pattern:literal) => {
        concat!(
            $pattern,
            " ($|=um|=gegen|=ab|=bitte|=danke|=gerne|=gern|=oder|=und|=aber|=bis|=von|=mit|=fur|=in|=im|=nach|=vor|=bei|=zu|=ist|=sind|=ware|=waere|=war|\
             =passt|=geht|=ginge|=hatte|=haette|=habe|=haben|=kann|=konnen|=konnte|=mochte|=komme|=kommen|=kommt|=kam|=abreisen|=anreisen|=ich|=wir|=sie|=er|=es|\
             =zuruck|=frei|=abends|=morgens|=mittags|=nachmittags|=vormittags|=nicht|=wurde|=wird|=fallig|=ein|=eine|=einen|=weg|=abgebucht|=reservieren|=buchen)"
        )
    };
}

pub(super) static LANGUAGE: Language = Language {
    code: "de",
    numbers: NumberWords {
        cardinals: &[
            ("null", 0),
            ("eins|ein|eine|einen|einem|einer|eines", 1),
            ("zwei|zwo", 2),
            ("drei", 3),
            ("vier", 4),
            ("funf|fuenf", 5),
            ("sechs", 6),
            ("sieben", 7),
            ("acht", 8),
            ("neun", 9),
            ("zehn", 10),
            ("elf", 11),
            ("zwolf|zwoelf", 12),
            ("dreizehn", 13),
            ("vierzehn", 14),
            ("funfzehn|fuenfzehn", 15),
            ("sechzehn", 16),
            ("siebzehn", 17),
            ("achtzehn", 18),
            ("neunzehn", 19),
            ("zwanzig", 20),
            ("dreissig", 30),
            ("vierzig", 40),
            ("funfzig|fuenfzig", 50),
            ("sechzig", 60),
            ("siebzig", 70),
            ("achtzig", 80),
            ("neunzig", 90),
        ],
        multipliers: &[
            ("hundert", 100),
            ("tausend|tsd", 1_000),
            ("million|millionen|mio", 1_000_000),
            ("milliarde|milliarden|mrd", 1_000_000_000),
            ("billion|billionen", 1_000_000_000_000),
            ("billiarde|billiarden", 1_000_000_000_000_000),
        ],
        ordinals: &[
            ("erste|erster|erstes|ersten|erstem", 1),
            ("zweite|zweiter|zweites|zweiten|zweitem", 2),
            ("dritte|dritter|drittes|dritten|drittem", 3),
            ("vierte|vierter|viertes|vierten|viertem", 4),
            ("funfte|funfter|funftes|funften|funftem|fuenfte|fuenfter|fuenftes|fuenften", 5),
            ("sechste|sechster|sechstes|sechsten|sechstem", 6),
            ("siebte|siebter|siebtes|siebten|siebtem|siebente|siebenter|siebentes|siebenten", 7),
            ("achte|achter|achtes|achten|achtem", 8),
            ("neunte|neunter|neuntes|neunten|neuntem", 9),
            ("zehnte|zehnter|zehntes|zehnten|zehntem", 10),
            ("elfte|elfter|elftes|elften|elftem", 11),
            ("zwolfte|zwolfter|zwolftes|zwolften|zwolftem|zwoelfte|zwoelfter|zwoelften", 12),
            ("millionste|millionster|millionstes|millionsten", 1_000_000),
            ("milliardste|milliardster|milliardstes|milliardsten", 1_000_000_000),
            ("billionste|billionster|billionstes|billionsten", 1_000_000_000_000),
        ],
        ordinal_signs: "te|ter|ten|tes|ste|ster|sten|stes",
        ordinal_endings: "te|ter|ten|tes|tem|ste|ster|sten|stes|stem",
        parts: &[
            ("drittel", 3),
            ("funftel|fuenftel", 5),
            ("sechstel", 6),
            ("siebtel", 7),
            ("achtel", 8),
            ("neuntel", 9),
            ("zehntel", 10),
            ("zwolftel|zwoelftel", 12),
            ("fuenfzehntel|funfzehntel", 15),
            ("sechzehntel", 16),
            ("zwanzigstel", 20),
            ("dreissigstel", 30),
            ("funfzigstel", 50),
            ("hundertstel", 100),
            ("tausendstel", 1_000),
            ("millionstel", 1_000_000),
            ("milliardstel", 1_000_000_000),
            ("billionstel", 1_000_000_000_000),
        ],
        additions: &[
            (
                "einhalb|ein halb|und einhalb|und ein halb|und eine halbe|und ein halbes|und einen halben|und einer halben|und einem halben",
                1,
                2,
            ),
            ("einviertel|und ein viertel|und einviertel", 1, 4),
            ("und drei viertel|und dreiviertel", 3, 4),
        ],
        prefixes: &[],
        fractions: &[
            ("eine halbe|ein halbes|ein halber|einen halben|einer halben|einem halben|eines halben", 1, 2),
            ("ein viertel|einem viertel|eine viertel|einer viertel", 1, 4),
            ("dreiviertel|drei viertel", 3, 4),
            ("anderthalb|anderthalbe|eineinhalb|einundeinhalb|einundhalb", 3, 2),
        ],
        groups: &[("dutzend", 12)],
        and: "und",
        has_ones_first: true,
        is_compound: true,
        is_one_implied: true,
        tens_before_teens: &[],
        point: "komma",
        minus: "minus|negativ",
        percent: "prozent|v h|vh|vom hundert",
        articles: "ein|eine|einen|einem|einer|eines",
        short_multipliers: &[("k", 1_000), ("tsd", 1_000), ("mio", 1_000_000), ("mrd", 1_000_000_000)],
        over: "durch|geteilt durch",
        of: "",
        before_pronoun: "noch|so|irgend|wie|der|die|das|jeder|jede|jedes|kein|was fur|nur|auch|schon",
        behind_pronoun: "frage|fragen|moment|momentchen|augenblick|sekunde|minute|andere|anderer|anderen|anderes|weitere|weiterer|weiteres|weiteren|mal|bisschen|\
                         paar|wenig|sehr|der|die|das|von|ganz|ganze|gute|guter|guten|neue|neuer|neues|neuen|schone|schonen|schones|tag|tages|problem|freund|\
                         freundin|kollege|kollegin|fehler|verstandnisproblem|beschwerde|idee|gewisse|gewisser|solche|solcher|so|bitte nicht|oder|rechnung|\
                         reklamation|termin|hilfe|mensch|mitarbeiter|auskunft|anliegen|kleine|kleiner|kleines|kleinen|grosse|grosser|grosses|grossen|meiner|deiner|seiner|ihrer|\
                         unserer|zu|ums|einzige|einziger|einziges|jeder|nach|halb|halbe|halbes",
    },
    rules: &[
        (
            Category::Ordinal,
            &[
                ("als (erstes|nachstes)", Action::Nothing),
                ("(die|den|der) (ersten|zweiten|dritten) {integer}", Action::Nothing),
                ("(achte|achten) (bitte)? (sie|wir)? (bitte)? (auf|darauf)", Action::Nothing),
                ("(zu|darauf|wir|sie|sehr|gut|besonders) achten", Action::Nothing),
                // The days of months are no ordinals of something.
                (
                    "(der|die|das|den|dem|des|im|beim|zum|zur|vom|ein|eine|einen|mein|meine|meinen|meiner|ihr|ihre|ihren|unser|unsere|unseren|sein|seine|jeder|jede|jedes|jeden) \
                     {integer} . ({month}|{integer})",
                    Action::Nothing,
                ),
                (
                    "(der|die|das|den|dem|des|im|beim|zum|zur|vom|ein|eine|einen|mein|meine|meinen|meiner|ihr|ihre|ihren|unser|unsere|unseren|sein|seine|jeder|jede|jedes|jeden) {integer} .",
                    Action::Same,
                ),
            ],
        ),
        (
            Category::Month,
            &[
                ("januar|jan|janner|jaenner|januars", Action::Month(1)),
                ("februar|feb|febr|feber|februars", Action::Month(2)),
                ("marz|maerz|mar|mrz", Action::Month(3)),
                ("april|apr|aprils", Action::Month(4)),
                ("mai", Action::Month(5)),
                ("juni|jun|juno", Action::Month(6)),
                ("juli|jul|julei", Action::Month(7)),
                ("august|aug", Action::Month(8)),
                ("september|sept|sep", Action::Month(9)),
                ("oktober|okt", Action::Month(10)),
                ("november|nov", Action::Month(11)),
                ("dezember|dez", Action::Month(12)),
            ],
        ),
        (
            Category::Weekday,
            &[
                ("montag", Action::Weekday(1)),
                ("dienstag", Action::Weekday(2)),
                ("mittwoch", Action::Weekday(3)),
                ("donnerstag", Action::Weekday(4)),
                ("freitag", Action::Weekday(5)),
                ("samstag|sonnabend", Action::Weekday(6)),
                ("sonntag", Action::Weekday(7)),
            ],
        ),
        // Names that are words as well.
        (
            Category::ShortWeekday,
            &[
                ("{weekday}", Action::Same),
                ("mo", Action::Weekday(1)),
                ("di", Action::Weekday(2)),
                ("mi", Action::Weekday(3)),
                ("do", Action::Weekday(4)),
                ("fr", Action::Weekday(5)),
                ("sa", Action::Weekday(6)),
            ],
        ),
        (
            Category::Unit,
            &[
                ("jahre|jahr|jahren|jahres", Action::Unit(Unit::Year)),
                ("monate|monat|monaten|monats|mon|monatig|monatige|monatigen|monatiges", Action::Unit(Unit::Month)),
                ("wochen|woche|wochig|wochige|wochigen|wochiges", Action::Unit(Unit::Week)),
                ("tage|tag|tagen|tg|tgn|tages|tagig|tagige|tagigen|tagiges", Action::Unit(Unit::Day)),
                ("stunden|stunde|std|stdn|h|hr|stundig|stundige|stundigen|stundiges", Action::Unit(Unit::Hour)),
                ("minuten|minute|min|minutig|minutige|minutigen|minutiges", Action::Unit(Unit::Minute)),
                ("sekunden|sekunde|sek|s", Action::Unit(Unit::Second)),
                ("quartale|quartal|quartalen", Action::Unit(Unit::Quarter)),
                ("jahrzehnte|jahrzehnt|jahrzehnten", Action::Unit(Unit::Decade)),
                ("jahrhunderte|jahrhundert|jahrhunderten", Action::Unit(Unit::Century)),
            ],
        ),
        (
            Category::Part,
            &[
                (
                    "morgens|am morgen|fruh|frueh|in der fruh|in der fruhe|vormittags|am vormittag|am fruhen morgen",
                    Action::Part(Part::Morning),
                ),
                ("mittags|am mittag", Action::Part(Part::Noon)),
                ("nachmittags|am nachmittag", Action::Part(Part::Afternoon)),
                ("abends|am abend|des abends", Action::Part(Part::Evening)),
                ("nachts|in der nacht", Action::Part(Part::Night)),
                ("pm", Action::Part(Part::Pm)),
            ],
        ),
        (
            Category::Year,
            &[
                ("(in)? (dieses|diesem|diesen) (jahr|jahres)", Action::YearOffset(0)),
                ("(im)? (nachstes|nachsten|naechstes|naechsten|kommendes|kommenden) (jahr|jahres)", Action::YearOffset(1)),
                ("(im)? (letztes|letzten|vergangenes|vergangenen|voriges|vorigen) (jahr|jahres)", Action::YearOffset(-1)),
            ],
        ),
        (
            Category::Span,
            &[
                ("{number} (-)? {unit}", Action::Count),
                ("{number} (weitere|weiteren|weiterer|ganze|ganzen|ganzes|ganzer|volle|vollen|volles|lange|langen) {unit}", Action::Count),
                (
                    "{number} (nacht|nachte|nachten|naechte|naechten|ubernachtung|ubernachtungen|uebernachtungen)",
                    Action::CountOfUnit(Unit::Day),
                ),
                ("{number} (dreiviertel|drei viertel) (stunden|stunde|jahre|jahr|jahren)", Action::Nothing),
                ("(eine|einer|ein|einem|einen)? (dreiviertel|drei viertel) {unit}", Action::Fraction(3, 4)),
                ("(eine|einer|ein|einem|einen)? viertel {unit}", Action::Fraction(1, 4)),
                ("{number} viertel {unit}", Action::Nothing),
                ("(ganze|ganzen|ganzes|ganzer) {unit}", Action::Count),
                ("(halb|halbe|halben|halbes|halber) {unit}", Action::Fraction(1, 2)),
                ("(ein|eines|einem) paar {unit}", Action::Nothing),
                ("eines (tages|abends|nachts)", Action::Nothing),
                ("{number} jahrhunderts", Action::Nothing),
            ],
        ),
        (
            Category::Duration,
            &[
                ("{number} (bis|oder|bis zu) {duration}", Action::Nothing),
                ("{span} (alt|jung|alter|alte|alten|altes)", Action::Nothing),
                ("(eine|1) (minute|sekunde) (bitte|mal|noch)", Action::Nothing),
                ("{span} (,)? und {duration}", Action::Sum),
                ("{span} und (eine|einer|ein|einen) (halbe|halben|halber|halbes)", Action::AndFraction(1, 2)),
                ("{span} {minute} $", Action::AndSmaller),
            ],
        ),
        (
            Category::Date,
            &[
                // The morning is no tomorrow.
                (
                    "(guten|gutn|am|der|diesen|dieser|jeden|jeder|vom|zum|fruhen|nachsten|naechsten|folgenden|selben|des|einem|einen|den|dem|eines|ganzen|schonen|wunderschonen) morgen",
                    Action::Nothing,
                ),
                ("(am|den|der)? (morgen|vormittag|mittag|nachmittag|abend) (des|vom|am) {date}", Action::Same),
                (
                    "(schonen|schoenen|schones|guten|frohen|tollen|angenehmen|entspannten|erholsamen) (restlichen)? ({weekday}|{weekday} abend|{weekday} noch)",
                    Action::Nothing,
                ),
                ("(frohe|schone|schoene|frohes|gesegnete|besinnliche) (weihnachten|ostern|pfingsten|neujahr)", Action::Nothing),
                ("(am)? (abend|vorabend) vor {date}", Action::ShiftBy(-1, Unit::Day)),
                ("heute", Action::Days(0)),
                ("(am|vom)? (heutigen|heutiger) (tag|tage)", Action::Days(0)),
                ("heute (abend|morgen|fruh|frueh|mittag|vormittag|nachmittag|nacht)", Action::Days(0)),
                ("morgen", Action::Days(1)),
                ("(am|der)? (morgigen|morgige) tag", Action::Days(1)),
                ("morgen (abend|fruh|frueh|mittag|vormittag|nachmittag|nacht)", Action::Days(1)),
                ("ubermorgen|uebermorgen", Action::Days(2)),
                ("(ubermorgen|uebermorgen) (abend|fruh|frueh|mittag|vormittag|nachmittag|nacht)", Action::Days(2)),
                ("uberubermorgen|ueberuebermorgen", Action::Days(3)),
                ("gestern", Action::Days(-1)),
                ("(am|der)? (gestrigen|gestrige) tag", Action::Days(-1)),
                ("gestern (abend|morgen|fruh|frueh|mittag|vormittag|nachmittag|nacht)", Action::Days(-1)),
                ("vorgestern", Action::Days(-2)),
                ("vorgestern (abend|morgen|fruh|frueh|mittag|vormittag|nachmittag|nacht)", Action::Days(-2)),
                ("vorvorgestern", Action::Days(-3)),
                ("heute in (einer woche|1 woche|acht tagen|8 tagen)", Action::Days(7)),
                ("morgen in (einer woche|1 woche|acht tagen|8 tagen)", Action::Days(8)),
                ("(ubermorgen|uebermorgen) in (einer woche|1 woche|acht tagen|8 tagen)", Action::Days(9)),
                ("morgen in (zwei wochen|2 wochen|vierzehn tagen|14 tagen)", Action::Days(15)),
                ("(morgen|ubermorgen|uebermorgen|gestern|vorgestern) (in|vor) {duration}", Action::Nothing),
                ("in acht tagen", Action::Nothing),
                ("(heute)? in {duration}", Action::Shift(1)),
                ("(heute)? vor {duration}", Action::Shift(-1)),
                ("{duration} (von heute|von jetzt|ab heute|ab jetzt) (an|ab)?", Action::Shift(1)),
                ("{duration} (spater|spaeter|danach|darauf|fruher|frueher|zuvor|davor)", Action::Nothing),
                ("{duration} her", Action::Shift(-1)),
                ("{duration} (nach|ab) {date}", Action::Shift(1)),
                ("{duration} vor {date}", Action::Shift(-1)),
                ("(am|der|den|einen|ein)? tag nach {date}", Action::ShiftBy(1, Unit::Day)),
                ("(am|der|den|einen|ein)? tag vor {date}", Action::ShiftBy(-1, Unit::Day)),
                ("(am|den|zum|der)? (nachsten|naechsten|folgenden|selben|gleichen|letzten) tag (nach|vor) {date}", Action::Nothing),
                // What looks like a day in digits.
                ("(um|gegen) {hour} . {digits} (.)? (uhr)?", Action::Nothing),
                ("(von)? {hour} . {digits} (uhr)? (bis|-) {hour} . {digits} (uhr|h)", Action::Nothing),
                (
                    "{hour} . {minute} (uhr|h|euro|eur|€|£|%|prozent|kg|g|km|m|cm|mm|meter|liter|l|gb|mb|tb|grad|dollar|franken|chf|usd|gbp|stunden|std|minuten|\
                     sekunden|punkte|sterne|zoll|volt|watt|kw|kwh|ps)",
                    Action::Nothing,
                ),
                (
                    "(version|kapitel|abschnitt|punkt|ziffer|absatz|paragraph|nummer|nr|windows|android|ios|firmware|release|artikel|note|notenschnitt|modell|§|v|raum|\
                     zimmer|stufe|etappe|haus|tarif|bluetooth|usb|seite|frage|position|pos) (.)? {hour} . {minute} (.)?",
                    Action::Nothing,
                ),
                ("(eins|ein|eine) (mai)", Action::Nothing),
                ("(heisse|heisst|herr|herrn|frau|familie) {date}", Action::Nothing),
                ("(strasse|str) des {date}", Action::Nothing),
                ("(in der)? nacht (auf|zum|von|vom) {date}", Action::Nothing),
                // Weekdays.
                (
                    "(jenem|jener|jenen|einem|einen|ein|irgendeinem|irgendeinen|eines|darauffolgenden|folgenden|vorletzten|vorletzter|anderen|anderer|welchem|welchen|welcher|mein|\
                     meinem|manchen|drittnachsten|vielen|allen|paar|halben|ganzen) {wd}",
                    Action::Nothing,
                ),
                ("(am|der|vom)? (heutigen|heutige) {wd}", Action::Days(0)),
                ("(am|der|vom)? (morgigen|morgige) {wd}", Action::Days(1)),
                ("(am|der|vom)? (gestrigen|gestrige) {wd}", Action::Days(-1)),
                ("(am|der|den)? {wd} (vor|nach) {date}", Action::Nothing),
                ("(von|vom)? {wd} auf {wd}", Action::Nothing),
                ("{weekday}", Action::ComingWeekday),
                (
                    "(am|an|diesen|diesem|dieser|kommenden|kommender|kommendem|am kommenden|den kommenden|diesen kommenden|zum|fur|fur den|fur kommenden|auf|den|vom) {wd}",
                    Action::ComingWeekday,
                ),
                (
                    "(am|den|der|fur|fur den|zum)? (nachsten|naechsten|nachster|naechster|nachste|nachstem|naechstem) {wd}",
                    Action::WeekdayOfWeek(1),
                ),
                ("(am|den|fur)? (ubernachsten|uebernaechsten|ubernachster) {wd}", Action::WeekdayOfWeek(2)),
                ("(am|den|vom)? (letzten|vergangenen|vorigen|letzter|letzte|letztem|vergangenem|vorigem) {wd}", Action::WeekdayOfWeek(-1)),
                (
                    "(am|den|fur)? {wd} (in|,)? (der)? (nachste|nachster|nachsten|kommende|kommender|kommenden|naechste|naechster|naechsten) woche",
                    Action::WeekdayOfWeek(1),
                ),
                (
                    "(in)? (der|die)? (nachste|nachster|nachsten|kommende|kommender|kommenden|naechste|naechster|naechsten) woche (am|,)? {wd}",
                    Action::WeekdayOfWeek(1),
                ),
                (
                    "(am|den|fur)? {wd} (in)? (der)? (ubernachste|ubernachster|ubernachsten|uebernaechste|uebernaechster) woche",
                    Action::WeekdayOfWeek(2),
                ),
                (
                    "(in)? (der)? (ubernachste|ubernachster|ubernachsten|uebernaechste|uebernaechster) woche (am|,)? {wd}",
                    Action::WeekdayOfWeek(2),
                ),
                ("(am|den|fur)? {wd} (in)? (dieser|diese) woche", Action::WeekdayOfWeek(0)),
                ("(in)? (dieser|diese) woche (am|,)? {wd}", Action::WeekdayOfWeek(0)),
                (
                    "(am|den|vom)? {wd} (in)? (der)? (letzte|letzter|letzten|vergangene|vergangener|vergangenen|vorige|voriger|vorigen) woche",
                    Action::WeekdayOfWeek(-1),
                ),
                (
                    "(in)? (der)? (letzte|letzter|letzten|vergangene|vergangener|vergangenen|vorige|voriger|vorigen) woche (am|,)? {wd}",
                    Action::WeekdayOfWeek(-1),
                ),
                ("(am|kommenden|diesen|den)? {wd} in (einer woche|1 woche|acht tagen|8 tagen)", Action::WeekdayPlusWeeks(1)),
                ("(am|kommenden|diesen|den)? {wd} in (zwei wochen|2 wochen|vierzehn tagen|14 tagen)", Action::WeekdayPlusWeeks(2)),
                ("(am|kommenden|diesen|den)? {wd} in (drei wochen|3 wochen)", Action::WeekdayPlusWeeks(3)),
                ("(am|kommenden|diesen|den)? {wd} (in|vor) {duration}", Action::Nothing),
                ("(am|diesen|letzten|nachsten)? {wd} (,)? (der|den|dem) {ordinal}", Action::Calendar),
                ("(am|diesen)? {wd} (,)? (der|den|dem) {day} (.)?", Action::Calendar),
                (day_followed!("(am|diesen)? {wd} (,)? {day} ."), Action::Calendar),
                ("(am|diesen|so)? ({wd}|so)? (,)? (der|den|dem|am)? {day} (.)? {month} (,|im jahr|im jahre)? {year}?", Action::Calendar),
                ("(am|diesen)? ({wd}|so) (,)? (der|den|dem|am)? {day} . {day} (.)?", Action::Calendar),
                ("(am|diesen)? ({wd}|so) (,)? (der|den|dem|am)? {day} . {day} . ({year}|{short})", Action::Calendar),
                // Days of months.
                ("(am|den|der|dem|des|vom|zum|an|zu|fur|fur den|auf|auf den) {date}", Action::Same),
                ("{day} . {month} {short} $", Action::Calendar),
                ("(im)? {month} {year}? (,)? (am|der|den) {day} (.)?", Action::Calendar),
                // The first of several days.
                ("(am|den|dem|vom)? {day} (.)? (,|und|oder|/|u .) (am|den|dem)? {day} (.)? {month} {year}?", Action::Nothing),
                ("(am|den|dem|vom)? {day} . , {day} . (und|oder) {day} . {month} {year}?", Action::Nothing),
                ("{day} (-|/) {month} (-|/) ({year}|{short})", Action::Calendar),
                ("{day} . {month} . ({year}|{short})", Action::Calendar),
                ("{month} - {day} - {year}", Action::Calendar),
                ("{year} (-|/) {month} (-|/) {day}", Action::Calendar),
                ("(am|der|den|dem|vom|zum|des) ({ordinal}|{day} .) {ordinal} {year}?", Action::Calendar),
                ("(am|der|den|dem|vom|zum|des) {ordinal} {day} . {year}?", Action::Calendar),
                ("(am)? {wd} (,)? (der|den|dem|am)? ({ordinal}|{day} .) {ordinal} {year}?", Action::Calendar),
                ("(am)? {wd} (,)? (der|den|dem|am)? {ordinal} {day} . {year}?", Action::Calendar),
                ("(am|zum|vom|den) {day} . {day} .", Action::Calendar),
                (day_followed!("(am|zum|vom|auf den|fur den) {day} ."), Action::Calendar),
                ("(am|zum|vom) {day} .", Action::Nothing),
                ("(am|zum) {day} $", Action::Calendar),
                ("am {ordinal} ($|=um|=gegen|=bitte|=ist|=passt|=geht|=ware)", Action::Calendar),
                ("(am|den|der|zum)? {day} (.)? (des|im) (monats|monat)", Action::Calendar),
                ("(am|den|der|zum)? {day} (.)? (dieses|diesen) (monats|monat)", Action::DayOfMonth(0)),
                ("(am|den|der|zum)? {day} (.)? (in diesem) monat", Action::DayOfMonth(0)),
                ("(am|den|der|zum)? {day} (.)? (des|im)? (nachsten|naechsten|kommenden) (monats|monat)", Action::DayOfMonth(1)),
                ("(am|den|der|zum|vom)? {day} (.)? (des|im)? (letzten|vergangenen|vorigen) (monats|monat)", Action::DayOfMonth(-1)),
                ("(am|den|der|zum|vom)? {day} (.)? (jeden|jedes) monats", Action::Nothing),
                // Edges of months and years.
                ("(am|zum|gegen)? (letzten tag|letzter tag) (des|dieses|diesen|vom) (monats|monat)", Action::MonthEdge(-1, 0)),
                ("(am|zum|gegen)? ende (des|dieses|diesen|vom) (monats|monat)", Action::AroundMonthEdge(-1, 0)),
                ("(am|zum|gegen)? monatsende", Action::AroundMonthEdge(-1, 0)),
                ("(am|zum|gegen)? (letzten tag|letzter tag) (des)? (nachsten|naechsten|kommenden) monats", Action::MonthEdge(-1, 1)),
                ("(am|zum|gegen)? ende (des)? (nachsten|naechsten|kommenden) monats", Action::AroundMonthEdge(-1, 1)),
                ("(am|zum|gegen)? (letzten tag|letzter tag) (des)? (letzten|vergangenen|vorigen) monats", Action::MonthEdge(-1, -1)),
                ("(am|zum|gegen)? ende (des)? (letzten|vergangenen|vorigen) monats", Action::AroundMonthEdge(-1, -1)),
                ("(am|zum|gegen)? ende {month} {year}?", Action::AroundMonthEdge(-1, 0)),
                ("(am|der)? (letzten tag|letzter tag|letzte tag) (im|des|vom) {month} {year}?", Action::MonthEdge(-1, 0)),
                ("(am|zum)? (ersten tag|erster tag) (des|dieses|diesen) monats", Action::MonthEdge(1, 0)),
                ("(am|zum)? (anfang|beginn) (des|dieses|diesen) monats", Action::AroundMonthEdge(1, 0)),
                ("(am|zum)? (ersten tag|erster tag) (des)? (nachsten|naechsten|kommenden) monats", Action::MonthEdge(1, 1)),
                ("(am|zum)? (anfang|beginn) (des)? (nachsten|naechsten|kommenden) monats", Action::AroundMonthEdge(1, 1)),
                ("(am|zum)? (anfang|beginn) {month} {year}?", Action::AroundMonthEdge(1, 0)),
                ("(am|der)? (ersten tag|erster tag|erste tag) (im|des|vom) {month} {year}?", Action::MonthEdge(1, 0)),
                ("(am|zum|gegen)? (ende|letzten tag) (des|dieses|diesen) jahres", Action::YearEdge(-1, 0)),
                ("(am|zum|gegen)? jahresende", Action::YearEdge(-1, 0)),
                ("(am|zum)? (ende|letzten tag) (des)? (nachsten|naechsten|kommenden) jahres", Action::YearEdge(-1, 1)),
                ("(am|zum)? ersten tag (des)? (nachsten|naechsten|kommenden) jahres", Action::YearEdge(1, 1)),
                ("(am|zum)? (anfang|beginn) (des)? (nachsten|naechsten|kommenden) jahres", Action::AroundYearStart(1)),
                ("(am|zum)? ende (des jahres)? {year}", Action::YearEdge(-1, 0)),
                ("(am|zum)? (anfang|beginn) (des jahres)? {year}", Action::AroundYearStart(0)),
                // Weekdays of months.
                ("(am|der|den)? ({ordinal}|{day} .) {weekday}", Action::Nothing),
                ("(am|der|den)? ({ordinal}|{day} .) {weekday} (im|in|des|vom) {month} {year}?", Action::NthWeekday(0, 0)),
                ("(am|der|den)? ({ordinal}|{day} .) {weekday} (im|des|in diesem|dieses|diesen) (monat|monats)", Action::NthWeekday(0, 0)),
                (
                    "(am|der|den)? ({ordinal}|{day} .) {weekday} (im|des)? (nachsten|naechsten|kommenden) (monat|monats)",
                    Action::NthWeekday(0, 1),
                ),
                ("(am|der|den)? (letzten|letzter|letzte) {weekday} (im|in|des|vom) {month} {year}?", Action::NthWeekday(-1, 0)),
                (
                    "(am|der|den)? (letzten|letzter|letzte) {weekday} (im|des|in diesem|dieses|diesen) (monat|monats)",
                    Action::NthWeekday(-1, 0),
                ),
                (
                    "(am|der|den)? (letzten|letzter|letzte) {weekday} (im|des)? (nachsten|naechsten|kommenden) (monat|monats)",
                    Action::NthWeekday(-1, 1),
                ),
                // Holidays.
                (
                    "(weihnachten|weihnachtstag|christtag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(12, 25),
                ),
                (
                    "(ersten|erster|erste|1 .) (weihnachtstag|weihnachtsfeiertag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(12, 25),
                ),
                (
                    "(zweiten|zweiter|zweite|2 .) (weihnachtstag|weihnachtsfeiertag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(12, 26),
                ),
                ("(stefanitag|stephanstag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(12, 26)),
                (
                    "(heiligabend|heiliger abend|heiligen abend|heilig abend|weihnachtsabend) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(12, 24),
                ),
                (
                    "(silvester|sylvester|silvesterabend) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(12, 31),
                ),
                ("(neujahr|neujahrstag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(1, 1)),
                (
                    "(heilige drei konige|heiligen drei konige|dreikonigstag|dreikonig) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(1, 6),
                ),
                ("valentinstag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(2, 14)),
                ("(frauentag|weltfrauentag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(3, 8)),
                ("(tag der arbeit|maifeiertag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(5, 1)),
                ("(maria himmelfahrt) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(8, 15)),
                ("(tag der deutschen einheit) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(10, 3)),
                (
                    "(reformationstag|halloween) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(10, 31),
                ),
                ("allerheiligen ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(11, 1)),
                ("(martinstag|sankt martin) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(11, 11)),
                ("(nikolaus|nikolaustag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(12, 6)),
                (
                    "(faschingssamstag|fastnachtssamstag|karnevalssamstag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Easter(-50),
                ),
                ("rosenmontag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(-48)),
                (
                    "(faschingsdienstag|fastnachtsdienstag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Easter(-47),
                ),
                ("aschermittwoch ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(-46)),
                ("palmsonntag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(-7)),
                (
                    "(grundonnerstag|gruendonnerstag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Easter(-3),
                ),
                ("karfreitag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(-2)),
                ("karsamstag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(-1)),
                ("(ostern|ostersonntag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(0)),
                ("ostermontag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(1)),
                (
                    "(himmelfahrt|christi himmelfahrt|himmelfahrtstag|vatertag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Easter(39),
                ),
                ("(pfingsten|pfingstsonntag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(49)),
                ("pfingstmontag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(50)),
                ("fronleichnam ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Easter(60)),
                ("allerseelen ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(11, 2)),
                ("walpurgisnacht ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(4, 30)),
                ("(lichtmess|maria lichtmess) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(2, 2)),
                (
                    "(josefstag|josephstag|josefitag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(3, 19),
                ),
                ("(maria empfangnis) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Yearly(12, 8)),
                (
                    "(internationalen|internationaler) kindertag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(6, 1),
                ),
                (
                    "(meteorologischen|meteorologischer) fruhlingsanfang ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(3, 1),
                ),
                (
                    "(meteorologischen|meteorologischer) sommeranfang ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(6, 1),
                ),
                (
                    "(meteorologischen|meteorologischer) herbstanfang ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(9, 1),
                ),
                (
                    "(meteorologischen|meteorologischer) winteranfang ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Yearly(12, 1),
                ),
                (
                    "(weiberfastnacht|weiberfasching|altweiberfastnacht|altweiber) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Easter(-52),
                ),
                (
                    "(fastnachtssonntag|faschingssonntag|karnevalssonntag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Easter(-49),
                ),
                (
                    "(veilchendienstag|karnevalsdienstag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::Easter(-47),
                ),
                ("(johannistag|johanni) ({year}|im jahr {year})?", Action::Yearly(6, 24)),
                ("(peter und paul) ({year}|im jahr {year})?", Action::Yearly(6, 29)),
                ("(augsburger)? friedensfest ({year}|im jahr {year})?", Action::Yearly(8, 8)),
                ("barbaratag ({year}|im jahr {year})?", Action::Yearly(12, 4)),
                ("(erntedankfest|erntedank) ({year}|im jahr {year})?", Action::Holiday(10, 7, 1)),
                ("muttertag ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Holiday(5, 7, 2)),
                (
                    "(black friday|schwarzer freitag|schwarzen freitag|schwarze freitag) ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::DaysAfterHoliday(11, 4, 4, 1),
                ),
                (
                    "cyber monday ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?",
                    Action::DaysAfterHoliday(11, 4, 4, 4),
                ),
                ("(ein|einen|einem) (schwarzer|schwarzen) freitag", Action::Nothing),
                (
                    "(black friday|cyber monday) (angebot|angebote|angeboten|rabatt|rabatte|deal|deals|woche|wochenende|aktion|sale|preise)",
                    Action::Nothing,
                ),
                ("thanksgiving ({year}|im jahr {year}|im jahre {year}|im {year}|des jahres {year})?", Action::Holiday(11, 4, 4)),
            ],
        ),
        (
            Category::Time,
            &[
                ("(um|gegen|so um) (12|zwolf|0|null|24) (uhr)? (abends|am abend)", Action::Nothing),
                (followed!("(geht|ging|handelt|geht es|handelt es sich|handelt sich) um {hour}"), Action::Nothing),
                ("kurz (vor|nach) ({time}|{hour})", Action::Nothing),
                (followed!("(um|gegen|so um|so gegen|circa um|etwa um|ungefahr um|punkt|schlag|@) {hour}"), Action::Clock),
                ("(um|gegen|so um|so gegen|punkt|schlag|@) {hour} {part}", Action::Clock),
                (followed!("(um|gegen|punkt|@) {hour} . {digits}"), Action::Clock),
                ("(um|gegen|punkt|@) {hour} . {digits} {part}", Action::Clock),
                (
                    "(um|gegen|circa|ca|etwa|ungefahr|so|punkt|genau|genau um|so um|so gegen|exakt|exakt um|punktlich|puenktlich|punktlich um|schlag|@|auf|fur) {time}",
                    Action::Same,
                ),
                ("(morgens|vormittags|fruh|frueh|fruhmorgens|am morgen|am vormittag) (um|gegen)? {time}", Action::TimeIn(Part::Morning)),
                ("(mittags|am mittag) (um|gegen)? {time}", Action::TimeIn(Part::Noon)),
                ("(nachmittags|am nachmittag) (um|gegen)? {time}", Action::TimeIn(Part::Afternoon)),
                ("(abends|am abend) (um|gegen)? (12|zwolf|null|0|24|1|2|3|ein|eins|zwei|drei) (uhr)?", Action::Nothing),
                ("(abends|am abend) (um|gegen)? {time}", Action::TimeIn(Part::Evening)),
                ("(nachts|in der nacht) (um|gegen)? {time}", Action::TimeIn(Part::Night)),
                ("(12|zwolf|0|null|24) (uhr)? (abends|am abend)", Action::Nothing),
                ("(fur|mit|zu|sind|zum) {hour} {part}", Action::Nothing),
                ("{hour} (am abend|am morgen|am mittag|am nachmittag|am vormittag|in der nacht)", Action::Nothing),
                ("{hour} uhr", Action::Clock),
                ("{hour} uhr {part}", Action::Clock),
                ("{hour} uhr (und)? {minute} (minuten|min)", Action::Clock),
                ("{hour} uhr und {integer}", Action::Nothing),
                (followed!("{hour} uhr {minute}"), Action::Clock),
                ("{hour} uhr {minute} {part}", Action::Clock),
                (
                    "{hour} uhr (,)? (fur)? {number} (personen|person|leute|gaste|gaesten|gasten|erwachsene|kinder|platze|plaetze|mann|tage|stunden|nachte|minuten|euro)",
                    Action::Clock,
                ),
                ("{hour} uhr {minute}", Action::Nothing),
                ("{hour} . {digits} uhr {part}?", Action::Clock),
                ("{hour} : {digits} (: {digits})? uhr {part}?", Action::Clock),
                ("{hour} uhr {digits} und {integer} sekunden", Action::Clock),
                ("{hour} h {digits} (uhr)?", Action::Clock),
                ("{hour} (.|:) {digits} h", Action::Clock),
                ("(um|gegen) {hour} h", Action::Clock),
                ("ein uhr|01 uhr", Action::At(1, 0)),
                ("ein uhr (nachts|fruh|morgens|in der nacht|am morgen)", Action::At(1, 0)),
                ("ein uhr (mittags|nachmittags|am nachmittag|am mittag)", Action::At(13, 0)),
                ("ein uhr (zehn|10)", Action::At(1, 10)),
                ("ein uhr (funfzehn|15)", Action::At(1, 15)),
                ("ein uhr (zwanzig|20)", Action::At(1, 20)),
                ("ein uhr (dreissig|30)", Action::At(1, 30)),
                ("ein uhr (vierzig|40)", Action::At(1, 40)),
                ("ein uhr (funfundvierzig|45)", Action::At(1, 45)),
                ("ein uhr {minute}", Action::Nothing),
                ("ein uhr (dreissig|30) (mittags|nachmittags)", Action::At(13, 30)),
                // "halb eins" is half an hour behind twelve.
                ("halb (eins|1) (uhr)? (mittags|am mittag|nachmittags)?", Action::At(12, 30)),
                ("halb (eins|1) (uhr)? (nachts|in der nacht|fruh)", Action::At(0, 30)),
                ("halb {hour} (uhr)? {part}?", Action::MinutesAfter(-30)),
                ("(um|gegen)? 1 / 2 {hour} uhr {part}?", Action::MinutesAfter(-30)),
                ("(um|gegen)? 3 / 4 {hour} uhr {part}?", Action::MinutesAfter(-15)),
                ("(um|gegen)? 1 / 4 {hour} uhr {part}?", Action::MinutesAfter(-45)),
                ("viertel nach {hour} (uhr)? {part}?", Action::MinutesAfter(15)),
                ("viertel vor (eins|1) (uhr)? (mittags|am mittag|nachmittags)?", Action::At(12, 45)),
                ("(dreiviertel|drei viertel) (eins|1) (uhr)? (mittags|am mittag|nachmittags)?", Action::At(12, 45)),
                ("viertel (eins|1) (uhr)? (mittags|am mittag|nachmittags)?", Action::At(12, 15)),
                ("viertel vor {hour} (uhr)? {part}?", Action::MinutesAfter(-15)),
                ("(dreiviertel|drei viertel) {hour} (uhr)? {part}?", Action::MinutesAfter(-15)),
                (followed!("viertel {hour}"), Action::MinutesAfter(-45)),
                ("viertel {hour} uhr {part}?", Action::MinutesAfter(-45)),
                ("viertel {hour} {part}", Action::MinutesAfter(-45)),
                ("(funf|fuenf|5) (minuten|min)? vor halb (eins|1) (uhr)?", Action::At(12, 25)),
                ("(funf|fuenf|5) (minuten|min)? nach halb (eins|1) (uhr)?", Action::At(12, 35)),
                ("(zehn|10) (minuten|min)? (vor|nach) halb (eins|1) (uhr)?", Action::Nothing),
                ("(funf|fuenf|5) (minuten|min)? vor halb {hour} (uhr)? {part}?", Action::MinutesAfter(-35)),
                ("(funf|fuenf|5) (minuten|min)? nach halb {hour} (uhr)? {part}?", Action::MinutesAfter(-25)),
                ("(zehn|10) (minuten|min)? vor halb {hour} (uhr)? {part}?", Action::MinutesAfter(-40)),
                ("(zehn|10) (minuten|min)? nach halb {hour} (uhr)? {part}?", Action::MinutesAfter(-20)),
                ("{minute} (minuten|minute|min)? vor (eins|1|ein uhr)", Action::Nothing),
                ("{minute} (minuten|minute|min)? nach {hour} uhr {part}?", Action::Minutes(1)),
                ("{minute} (minuten|minute|min)? nach {hour} {part}", Action::Minutes(1)),
                (followed!("{minute} (minuten|minute|min)? nach {hour}"), Action::Minutes(1)),
                ("{minute} (minuten|minute|min)? vor {hour} uhr {part}?", Action::Minutes(-1)),
                ("{minute} (minuten|minute|min)? vor {hour} {part}", Action::Minutes(-1)),
                (followed!("{minute} (minuten|minute|min)? vor {hour}"), Action::Minutes(-1)),
                ("mitternacht|um mitternacht|mitternachts", Action::At(0, 0)),
                ("(zwolf|12|0|null|24) (uhr)? mitternacht", Action::At(0, 0)),
                ("(zwolf|12) (uhr)? mittags", Action::At(12, 0)),
                ("(um)? (zwolf|12) uhr mittag", Action::At(12, 0)),
            ],
        ),
        (
            Category::DateTime,
            &[
                ("{date} (um|zu)? mitternacht", Action::Nothing),
                ("(um)? mitternacht (am|von|vom)? {date}", Action::Nothing),
                ("{date} (,|um|bis)? 24 (uhr|: 00|. 00)", Action::Nothing),
                ("{date} (,|um|gegen|so um|auf|fur)? (12|zwolf|0|null|24) (uhr)? (nachts|in der nacht|abends|am abend)", Action::Nothing),
                (
                    "(um|gegen|so um)? (12|zwolf|0|null|24) (uhr)? (nachts|in der nacht|abends|am abend) (,|am|an|den|fur|vom)? {date}",
                    Action::Nothing,
                ),
                ("heute (,|um|gegen)? {hour} (uhr)? (nachts|in der nacht)", Action::Nothing),
                ("{date} (,)? (in der)? nacht (um|gegen|,)? {time}", Action::Nothing),
                ("{date} (,)? (abend|am abend|abends) (um|gegen|,)? (12|zwolf|0|null|24|1|ein|zwei|2) (uhr)?", Action::Nothing),
                (
                    "{date} (,)? (am|in der)? (fruhen)? (morgen|morgens|fruhmorgens|fruh|frueh|vormittag|vormittags) (um|gegen|,)? {time}",
                    Action::JoinPart(Part::Morning),
                ),
                ("{date} (,)? (am)? (mittag|mittags) (um|gegen|,)? {time}", Action::JoinPart(Part::Noon)),
                ("{date} (,)? (am)? (fruhen|spaten)? (nachmittag|nachmittags) (um|gegen|,)? {time}", Action::JoinPart(Part::Afternoon)),
                ("{date} (,)? (am)? (fruhen|spaten)? (abend|abends) (um|gegen|,)? {time}", Action::JoinPart(Part::Evening)),
                ("{time} {date} (nacht|in der nacht)", Action::Nothing),
                ("{time} {date} (morgen|fruh|frueh|vormittag|morgens|am morgen|am vormittag)", Action::JoinPart(Part::Morning)),
                ("{time} {date} (mittag|mittags|am mittag)", Action::JoinPart(Part::Noon)),
                ("{time} {date} (nachmittag|nachmittags|am nachmittag)", Action::JoinPart(Part::Afternoon)),
                ("{time} {date} (abend|abends|am abend)", Action::JoinPart(Part::Evening)),
                ("heute nacht (um|gegen|,)? {time}", Action::Nothing),
                ("(diesen|dieser) morgen (um|gegen|,)? {time}", Action::JoinDays(0, Some(Part::Morning))),
                ("(diesen|dieser) nachmittag (um|gegen|,)? {time}", Action::JoinDays(0, Some(Part::Afternoon))),
                ("(diesen|diese|dieser) (abend) (um|gegen|,)? {time}", Action::JoinDays(0, Some(Part::Evening))),
                ("{date} (,|-|um|gegen|so um|so gegen|ca|circa|etwa|punkt|und zwar um|auf|fur) {time}", Action::Join),
                ("{time} (,|am|an|den|fur|vom|und zwar) {date}", Action::Join),
                ("{date} (mittag|mittags|am mittag) $", Action::Nothing),
                ("in {duration}", Action::ShiftNow(1)),
                ("vor {duration}", Action::ShiftNow(-1)),
                ("{duration} (ab jetzt|von jetzt an)", Action::ShiftNow(1)),
                ("(genau)? jetzt $", Action::Now),
                ("jetzt (=bitte)", Action::Now),
                ("ich (gehe|geh|fahre|fahr|komme|komm|laufe|reise|fliege|starte) jetzt", Action::Now),
                (
                    "ich (gehe|geh|fahre|fahr|komme|komm|laufe|reise|fliege|starte) jetzt (nicht|nie|kein|keine|erst|lieber|immer|jeden|ofter|oft)",
                    Action::Nothing,
                ),
                ("jetzt (sofort|gleich)", Action::Now),
                ("(am)? ende des tages", Action::EndOfDay),
            ],
        ),
        (
            Category::DateRange,
            &[
                ("(im|in|im monat)? {month} (im jahr|im jahre|des jahres|des|,)? {year}", Action::MonthPeriod),
                ("{year} (,)? (im)? {month}", Action::MonthPeriod),
                ("im {month} {short}", Action::Nothing),
                ("(von|vom|von dem)? {day} (.)? (bis|bis zum|bis einschliesslich|-|/) {day} (.)? {month} {year}?", Action::DaysOfMonth),
                ("zwischen dem {day} (.)? und (dem)? {day} (.)? {month} {year}?", Action::DaysOfMonth),
                ("(von|vom|von dem)? {day} . (bis|bis zum|-|/) (zum)? {date}", Action::Nothing),
                ("zwischen dem {day} (.)? und {date}", Action::Nothing),
                ("bis auf {date}", Action::Nothing),
                ("(von)? (jetzt|sofort) bis {date}", Action::Nothing),
                ("wochenende (vom|um den|um|des|am|mit dem) {date}", Action::Nothing),
                ("(am|dieses|das) wochenende (vom|um den|um|des|am|mit dem) {date}", Action::Nothing),
                ("{duration} (lang)? ab {date}", Action::Nothing),
                ("(nicht vor|nicht fruher als|nicht frueher als|nicht eher als) {date}", Action::From),
                ("(nicht nach|nicht spater als|nicht spaeter als) {date}", Action::Until),
                ("(von|vom)? {wd} (bis|-) (zum)? {wd}", Action::WeekdayToWeekday),
                ("(von|vom)? {date} (bis|bis zum|bis zu|bis einschliesslich|bis inklusive|-) {date}", Action::FromTo),
                ("zwischen {date} und {date}", Action::FromTo),
                ("(von|vom)? {date} (,|um)? {time} (bis|-) {date}", Action::Nothing),
                ("(von|vom) {date} auf (den)? {date}", Action::Nothing),
                ("(ab|seit|nach|fruhestens|fruehestens|beginnend|fruhestens ab|gultig ab) {date} (an)?", Action::From),
                ("(von|vom) {date} (an|ab)", Action::From),
                (
                    "(bis|bis zum|bis zu|vor|spatestens|spaetestens|bis spatestens|bis spaetestens|bis einschliesslich|bis inklusive|nicht spater als|noch vor) {date}",
                    Action::Until,
                ),
                (
                    "(in)? (der|die)? (nachste|nachsten|nachster|kommende|kommenden|kommender|naechste|naechsten|naechster) woche",
                    Action::Period(1, Unit::Week),
                ),
                ("(in)? (diese|dieser) woche", Action::Period(0, Unit::Week)),
                (
                    "(in)? (der|die)? (letzte|letzten|letzter|vergangene|vergangenen|vergangener|vorige|voriger|vorigen) woche",
                    Action::Period(-1, Unit::Week),
                ),
                (
                    "(in)? (der|die)? (ubernachste|ubernachsten|ubernachster|uebernaechste|uebernaechster) woche",
                    Action::Period(2, Unit::Week),
                ),
                (
                    "(ende|anfang|mitte|gegen ende|im laufe) (der)? (nachsten|nachster|kommender|kommenden|dieser|letzter|letzten|ubernachster) woche",
                    Action::Nothing,
                ),
                ("(am|dieses|an diesem|das|das kommende|am kommenden|kommendes) wochenende", Action::Period(0, Unit::Weekend)),
                ("(am|das|das)? (nachstes|nachsten|nachste|naechstes|naechsten) wochenende", Action::Period(1, Unit::Weekend)),
                ("(am|das)? (letztes|letzten|letzte|vergangenes|vergangenen) wochenende", Action::Period(-1, Unit::Weekend)),
                ("(diesen|dieser|in diesem|diesem) monat", Action::Period(0, Unit::Month)),
                ("(im|den|der)? (nachsten|nachster|kommenden|naechsten|naechster) monat", Action::Period(1, Unit::Month)),
                ("(im|den|der)? (letzten|letzter|vergangenen|vorigen) monat", Action::Period(-1, Unit::Month)),
                (
                    "(mitte|im laufe) (des|der)? (nachsten|kommenden|dieses|diesen|letzten|naechsten|nachstes|nachsten) (monats|jahres)",
                    Action::Nothing,
                ),
                ("(dieses|in diesem|diesem) jahr", Action::Period(0, Unit::Year)),
                ("(im|das)? (nachstes|nachsten|nachste|kommendes|kommenden|naechstes|naechsten) jahr", Action::Period(1, Unit::Year)),
                ("(im|das)? (letztes|letzten|letzte|vergangenes|vergangenen|voriges) jahr", Action::Period(-1, Unit::Year)),
                ("{month} (im jahr|im jahre)? {year}", Action::MonthPeriod),
                ("(im|im monat|im ganzen|den ganzen) {month} {year}?", Action::MonthPeriod),
                ("(mitte|mitte des monats|seit|ab|bis|vor|nach) {month} {year}?", Action::Nothing),
                ("(im jahr|im jahre|in) {year}", Action::YearPeriod),
                (
                    "(ab|bis|seit|vor|nach|bis ende|ausser|diese oder|dieser oder|diesen oder|nicht|jeden tag|taglich|jede woche|immer) {range}",
                    Action::Nothing,
                ),
                // Of two periods none is meant alone.
                (
                    "({range}|{month}|im {month}) (,)? (oder|bzw|beziehungsweise|und|sowie|&|/|,) (,)? (vielleicht|eventuell|auch|auch noch|sogar|dann|erst|gleich)? (in|im|am|der|die|den|dem|das|zum|um)? (in|im|am|der|die|den|dem|das|zum|um)? ({range}|{month}) {year}?",
                    Action::Several,
                ),
                (
                    "{month} , {month} (,)? (oder|bzw|beziehungsweise|und|sowie|&) (in|im|am|der|die|den|dem|das|zum|um)? {month} {year}?",
                    Action::Several,
                ),
                (
                    "({range}|{date}|{datetime}) (,)? (oder|bzw|beziehungsweise) (,)? (vielleicht|eventuell|auch|auch noch|sogar|dann|erst|gleich)? (in|im|am|der|die|den|dem|das|zum|um)? ({range}|{date}|{datetime}|{year}|im {month}|{wd})",
                    Action::Several,
                ),
                ("{date} (,)? (und|sowie|&) (in|im|am|der|die|den|dem|das|zum|um)? {date}", Action::Several),
                (
                    "{date} , (in|im|am|der|die|den|dem|das|zum|um)? {date} (,)? (oder|bzw|beziehungsweise|und|sowie|&) (in|im|am|der|die|den|dem|das|zum|um)? ({date}|{wd})",
                    Action::Several,
                ),
                (
                    "(im jahr|im jahre|in) {year} (oder|bzw|beziehungsweise|und|sowie|&|bis|bis zum|bis zur|bis in|bis in den|-|/|,) (im jahr|im jahre|in)? {year}",
                    Action::Nothing,
                ),
                ("({range}|{month}|{month} {year}) - ({range}|{month}) {year}?", Action::Nothing),
                ("{month} ({range}|{month})", Action::Nothing),
                (
                    "({range}|{month}|{date}|im {month}) (,)? (bis|bis zum|bis zur|bis in|bis in den|nein|quatsch|sorry|besser|lieber|vielmehr) (,)? ({range}|{month}|im {month}) {year}?",
                    Action::Nothing,
                ),
                (
                    "({range}|{datetime}) (,)? (bis|bis zum|bis zur|bis in|bis in den|nein|quatsch|sorry|besser|lieber|vielmehr) (,)? ({date}|{datetime}|{year})",
                    Action::Nothing,
                ),
                // A part of a period, or what has its name.
                (
                    "(diese|dieser|diesen|dieses|diesem|nachste|nachster|nachsten|nachstes|letzte|letzter|letzten|letztes|kommende|kommenden) (oder|und|bzw|oder die|oder den|oder das) ({range}|{weekday})",
                    Action::Several,
                ),
                ("{range} (,)? (von)? {wd} (bis|-) {wd}", Action::Nothing),
                ("{range} (,)? ({range}|im {month})", Action::Nothing),
                ("(jedes|jeden|jede) ({unit}|{wd}) (,)? {range}", Action::Nothing),
                ("{range} (,)? (und zwar|genauer gesagt) (am)? {date}", Action::Nothing),
                (
                    "(die|der|das|den|am|dem|in der|in den)? ({ordinal}|erste|ersten|zweite|zweiten|letzte|letzten|vorletzte|vorletzten) ({number})? (woche|wochen|wochenende|tag|tage|tagen|halfte) (im|in|vom|von|des|der|dieses|nachsten)? ({range}|{month}) {year}?",
                    Action::Nothing,
                ),
                ("(am|das|dieses|nachstes)? wochenende (vom|nach|vor|um) {date}", Action::Nothing),
                (
                    "(ausgabe|rechnung|budget|menu|speiseplan|speisekarte|plan|heft|katalog|bericht|etat|newsletter|kalender|modell|protokoll|wochenplan|urlaubsplan|miete) (vom|von|aus|fur|des|der)? (dem|den|der|das)? ({range}|{month} {year})",
                    Action::Nothing,
                ),
                ("{range} (,)? (im|in)? (fruhling|fruhjahr|sommer|herbst|winter|quartal)", Action::Nothing),
                ("(fruhling|fruhjahr|sommer|herbst|winter|quartal) (des|im)? {range}", Action::Nothing),
                ("(nachstes|letztes|kommendes|nachsten|letzten) (jahr|jahres) (,)? (am|an|zu|um|im|vor|nach)? {date}", Action::Nothing),
            ],
        ),
        (
            Category::TimeRange,
            &[
                // Of several numbers none is meant.
                ("{number} (bis|oder|bis zu) {number}", Action::Nothing),
                ("zwischen {number} und {number}", Action::Nothing),
                ("24 / 7", Action::Nothing),
                ("{integer} ({minute}|{short}|{hhmm}) (euro|euros|franken|dollar)", Action::Nothing),
                ("(von)? {hour} (uhr)? (bis|-) {hour} (uhr)? (abends|am abend)", Action::FromToIn(Part::Evening)),
                ("(von)? {hour} (uhr)? (bis|-) {hour} (uhr)? (nachmittags|am nachmittag)", Action::FromToIn(Part::Afternoon)),
                (
                    "(von)? {hour} (uhr)? (bis|-) {hour} (uhr)? (morgens|am morgen|fruh|vormittags|am vormittag)",
                    Action::FromToIn(Part::Morning),
                ),
                ("(von)? {hour} (uhr)? (bis|-) {hour} uhr {part}", Action::Nothing),
                ("(von)? {hour} (uhr)? (bis|-) {time} (oder|und) {time}", Action::Nothing),
                ("(von)? {time} (bis|bis um|-) {time}", Action::FromTo),
                ("(von)? {hour} (bis|-) {time}", Action::FromTo),
                ("zwischen {time} und {time}", Action::FromTo),
                ("zwischen {hour} und {time}", Action::FromTo),
                ("(von)? {hour} (.|:) {digits} (bis|-) {time}", Action::FromTo),
                ("zwischen {hour} (.|:) {digits} und {time}", Action::FromTo),
                ("{part} (,)? (von)? ({hour}|{time}) (bis|-) ({hour} uhr|{time})", Action::FromTo),
                ("{part} (,)? zwischen ({hour}|{time}) und {time}", Action::FromTo),
                ("{part} (,)? (ab|nach|erst ab|erst nach|fruhestens|fruhestens um) {time}", Action::From),
                ("{part} (,)? (bis|vor|spatestens|spatestens um) {time}", Action::Until),
                ("abend (,)? (von)? {hour} (uhr)? (bis|-) {hour} uhr", Action::FromToIn(Part::Evening)),
                ("nachmittag (,)? (von)? {hour} (uhr)? (bis|-) {hour} uhr", Action::FromToIn(Part::Afternoon)),
                ("(abend|nachmittag|nacht|mittag) (,)? (von)? ({hour}|{time}) (bis|-) {time}", Action::Nothing),
                ("(abend|nachmittag|nacht|mittag) (,)? zwischen ({hour}|{time}) und {time}", Action::Nothing),
                ("(abend|nachmittag|nacht|mittag) (,)? (ab|nach|erst ab|vor|bis|spatestens) {time}", Action::Nothing),
                ("{duration} (lang)? ab {time}", Action::Nothing),
                ("von {time} (an|ab)", Action::From),
                ("{time} oder (spater|fruher|spaeter|frueher)", Action::Nothing),
                (
                    "(ab|nach|seit|fruhestens|fruehestens|fruhestens ab|nicht vor|ab etwa|ab circa|ab ca|erst ab|erst nach) {time}",
                    Action::From,
                ),
                (
                    "(bis|vor|spatestens|spaetestens|bis spatestens|bis spaetestens|nicht nach|bis etwa|bis maximal|noch vor|bis kurz vor) {time}",
                    Action::Until,
                ),
                (
                    "(von|zwischen|vom)? {hour} (uhr)? (bis|bis zum|bis zur|bis in|bis in den|-) {hour} (uhr)? (,)? (oder|bzw|beziehungsweise|und|sowie|&|,) (von|zwischen|vom)? {timerange}",
                    Action::Several,
                ),
                (
                    "{timerange} (,)? (oder|bzw|beziehungsweise|und|sowie|&|,) (vielleicht|eventuell|auch|auch noch|sogar|dann|erst|gleich)? (in|im|am|der|die|den|dem|das|zum|um)? ({timerange}|{date}|{date} {timerange}|{wd} {timerange})",
                    Action::Several,
                ),
            ],
        ),
        (
            Category::DateTimeRange,
            &[
                ("(von|vom)? {datetime} (bis|-) {datetime}", Action::FromTo),
                ("(von|vom)? {datetime} (bis|-) {time}", Action::FromTo),
                ("{time} (von|vom|ab|bis) {date}", Action::Nothing),
                ("{time} (von|vom)? {date} (bis|-) {date}", Action::Nothing),
                ("{date} (,)? (von)? ({time}|{hour}) (bis|-) {time}", Action::Nothing),
                ("{date} (,)? zwischen ({time}|{hour}) und {time}", Action::Nothing),
                ("{date} (,)? (ab|nach|vor|bis|spatestens|fruhestens|nicht vor) {time}", Action::Nothing),
                ("zwischen ({datetime}|{date}) und {datetime}", Action::Nothing),
                ("(ab|nach|seit|fruhestens) {datetime}", Action::From),
                ("(bis|vor|spatestens|bis spatestens) {datetime}", Action::Until),
                (
                    "{datetimerange} (,)? (oder|bzw|beziehungsweise|und|sowie|&|,) (vielleicht|eventuell|auch|auch noch|sogar|dann|erst|gleich)? (in|im|am|der|die|den|dem|das|zum|um)? ({datetimerange}|{timerange}|{datetime}|{date})",
                    Action::Several,
                ),
                (
                    "{datetime} (,)? (oder|bzw|beziehungsweise) (vielleicht|eventuell|auch|auch noch|sogar|dann|erst|gleich)? (in|im|am|der|die|den|dem|das|zum|um)? ({datetime}|{time}|{date}|{hour})",
                    Action::Several,
                ),
                ("{datetime} (,)? (und|sowie|&) (in|im|am|der|die|den|dem|das|zum|um)? {datetime}", Action::Several),
            ],
        ),
        (
            Category::ValueRange,
            &[
                ("(von|ab)? {value} bis (zu|maximal|hochstens)? {value}", Action::FromTo),
                ("von {value} - {value}", Action::FromTo),
                ("zwischen {value} (und|bis|-) {value}", Action::FromTo),
                ("zwischen {value} und {value} und {value}", Action::Nothing),
                ("(mehr als|weniger als|uber|unter|mindestens|hochstens) (die|der)? halfte", Action::Nothing),
                (
                    "(mindestens|wenigstens|zumindest|mind|minimum|minimal|ein minimum von|nicht weniger als|nicht unter|nicht weniger wie) {value}",
                    Action::From,
                ),
                ("(mehr als|mehr wie|uber|grosser als|hoher als|oberhalb von) {value}", Action::From),
                ("{value} (oder mehr|und mehr|plus|aufwarts|und aufwarts|oder daruber|und daruber|mindestens|minimum)", Action::From),
                ("(von|ab) {value} (aufwarts|an aufwarts|und mehr)", Action::From),
                ("ab {money}", Action::From),
                (
                    "ab {value} (=personen|=leute|=gaste|=erwachsene|=kinder|=teilnehmer|=mitarbeiter|=schuler|=platze|=stuhle|=tische|=zimmer|=karten|=tickets|=stuck|=exemplare|=kisten|=flaschen|=seiten|=worter|=mal|=kg|=kilo|=gramm|=km|=kilometer|=meter|=liter|=cm|=mm|=gb|=mb|=quadratmeter|=autos|=spieler|=mitglieder|=bestellungen)",
                    Action::From,
                ),
                (
                    "(hochstens|maximal|max|allerhochstens|bis zu|bis maximal|bis hochstens|nicht mehr als|nicht mehr wie|nicht uber|maximum|ein maximum von) {value}",
                    Action::Until,
                ),
                ("unter {value}", Action::NothingIf("ruf|rufe|rufen|anrufen|erreichbar|erreichen|telefon|nummer")),
                (
                    "(weniger als|weniger wie|unter|unterhalb von|kleiner als|geringer als|niedriger als|billiger als|gunstiger als) {value}",
                    Action::Until,
                ),
                ("{value} (oder weniger|und weniger|oder darunter|und darunter|hochstens|maximal|maximum|max)", Action::Until),
                ("bis {money}", Action::Until),
                (
                    "bis {value} (=personen|=leute|=gaste|=erwachsene|=kinder|=teilnehmer|=mitarbeiter|=schuler|=platze|=stuhle|=tische|=zimmer|=karten|=tickets|=stuck|=exemplare|=kisten|=flaschen|=seiten|=worter|=mal|=kg|=kilo|=gramm|=km|=kilometer|=meter|=liter|=cm|=mm|=gb|=mb|=quadratmeter|=autos|=spieler|=mitglieder|=bestellungen)",
                    Action::Until,
                ),
                ("{valuerange} (,)? (und|aber) {valuerange}", Action::FromTo),
                ("{valuerange} (,)? oder {valuerange}", Action::Nothing),
            ],
        ),
        (
            Category::Repetition,
            &[
                ("(jeden|jede|jedes|jeder|jedem|an jedem) ({wd}|{unit}|{date}|{duration})", Action::Nothing),
                ("(jeden|jede|jedes|jeder) (zweiten|zweite|zweites|dritten|dritte|vierten|ersten|letzten) ({wd}|{unit})", Action::Nothing),
                ("(jeden|jeder|am) (ersten|zweiten|dritten|vierten|letzten) {wd} (jeden|jedes) monats", Action::Nothing),
                ("(jeden|jede|jedes|jeder) {ordinal} ({wd}|{unit})", Action::Nothing),
                (
                    "(jeden|jede|jedes|jeder) (abend|morgen|vormittag|mittag|nachmittag|nacht|werktag|wochentag) (um|gegen|ab)? {time}?",
                    Action::Nothing,
                ),
                ("(jeden|jede|jedes|jeder|an jedem) {datetime}", Action::Nothing),
                (
                    "(jeden|jede|jedes|jeder|an jedem) ({wd}|{unit}|{ordinal} {wd}) (um|gegen|ab|von|abend|abends|morgen|nachmittag|mittag|vormittag|nachmittags|morgens)? {time}",
                    Action::Nothing,
                ),
                ("(um)? {time} (jeden|jede|jedes) ({wd}|{unit}|abend|morgen|vormittag|mittag|nachmittag|nacht)", Action::Nothing),
                (
                    "(montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonnabends|sonntags|werktags|wochentags|taglich) (um|gegen|ab|,)? {time}",
                    Action::Nothing,
                ),
                ("alle {duration}", Action::Nothing),
                ("(montags|dienstags|mittwochs|donnerstags|freitags|samstags|sonnabends|sonntags|werktags|wochentags)", Action::Nothing),
                (
                    "(immer|stets|jeweils|regelmassig|meistens|normalerweise|gewohnlich|ublicherweise) (nur)? ({date}|{time}|{datetime})",
                    Action::Nothing,
                ),
                ("(am|zum) {day} (.)? (jeden|jedes|eines jeden) (monats|jahres)", Action::Nothing),
                ("(pro|je) {unit}", Action::Nothing),
                ("taglich|wochentlich|monatlich|jahrlich|stundlich", Action::Nothing),
                ("(taglich|wochentlich|monatlich) ({date}|{time}|{datetime})", Action::Nothing),
                ("(jeden|jede|jedes|jeder) {timerange}", Action::Nothing),
                // One of two times, each of them from one to another.
                (
                    "({datetimerange}|{timerange}|{date} {timerange}) (,)? (oder|bzw|beziehungsweise) (in|im|am|der|die|den|dem|das|zum|um)? ({datetimerange}|{date} {timerange}|{date}|{wd} {timerange}|{wd})",
                    Action::Several,
                ),
            ],
        ),
    ],
    lead_ins: "am|den|dem|der|um|gegen",
    joined_words: &[
        (
            "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonnabend|sonntag",
            "morgen|fruh|vormittag|mittag|nachmittag|abend|nacht|fruhmorgens",
        ),
        ("viertel|dreiviertel|halb", "stunde|stunden|jahr|jahre|jahres"),
        ("dreiviertel|halb", "tag|tage"),
    ],
    currencies: &[
        ("euro|euros", "EUR"),
        ("dollar|dollars", "$"),
        (
            "us dollar|us dollars|u s dollar|amerikanische dollar|amerikanischer dollar|amerikanischen dollar|us amerikanische dollar|dollar der vereinigten staaten",
            "USD",
        ),
        ("kanadische dollar|kanadischer dollar|kanadischen dollar|kanada dollar", "CAD"),
        ("australische dollar|australischer dollar|australischen dollar", "AUD"),
        ("neuseeland dollar|neuseelandische dollar|neuseelandischer dollar|neuseelandischen dollar", "NZD"),
        ("hongkong dollar|hong kong dollar", "HKD"),
        ("singapur dollar", "SGD"),
        ("franken|schweizer franken|sfr|fr|frankli|stutz", "CHF"),
        ("~pfund|britische pfund|britisches pfund|britischer pfund|britischen pfund|englische pfund|pfund sterling", "GBP"),
        ("yen|japanische yen|japanischer yen|japanischen yen", "JPY"),
        ("yuan|chinesische yuan|chinesischer yuan|chinesischen yuan|renminbi", "CNY"),
        ("rupien|rupie|indische rupien|indische rupie", "INR"),
        ("rubel|russische rubel", "RUB"),
        ("zloty|polnische zloty", "PLN"),
        ("schwedische kronen|schwedische krone|schwedischen kronen", "SEK"),
        ("norwegische kronen|norwegische krone|norwegischen kronen", "NOK"),
        ("danische kronen|danische krone|danischen kronen|daenische kronen", "DKK"),
        ("tschechische kronen|tschechische krone|tschechischen kronen", "CZK"),
        ("islandische kronen|islandische krone", "ISK"),
        ("forint|ungarische forint", "HUF"),
        ("turkische lira|tuerkische lira|lira", "TRY"),
        ("brasilianische real|brasilianischer real|~real|reais", "BRL"),
        ("mexikanische pesos|mexikanischer peso|mexikanische peso|mexikanischen pesos", "MXN"),
        ("sudkoreanische won|~won", "KRW"),
        ("~rand|sudafrikanische rand", "ZAR"),
        ("baht|thailandische baht", "THB"),
        ("dirham", "AED"),
    ],
    cents: &[("cent|cents|ct", "EUR USD CAD AUD NZD HKD SGD ZAR"), ("rappen", "CHF"), ("pence|penny", "GBP")],
    range_words: RangeWords {
        counted: "personen|leute|gaste|erwachsene|kinder|teilnehmer|mitarbeiter|schuler|platze|stuhle|tische|zimmer|karten|tickets|stuck|exemplare|kisten|flaschen|seiten|worter|mal|kg|kilo|gramm|km|kilometer|meter|liter|cm|mm|gb|mb|quadratmeter|autos|spieler|mitglieder|bestellungen",
        denials: "nicht|kein|keine|keinen|keinem|keiner|nie|niemals|ohne|statt|weder|ausser",
        but: "aber|sondern|doch",
        hours: "arbeite|arbeiten|arbeitet|geoffnet|offen|frei|treffen|termin|zeit|besprechung|verfugbar|geschlossen|schicht|sprechstunde",
        questions: "ist es|ist das|sind es|sind das|ist der|ist die|war es|warum|wieso|weshalb|wie viel|wie viele|wieviel|wieviele|wie lange|wann|wer|wo|was ist|was kostet|was passiert|muss ich|muss es|soll ich|kostet das|kostet es|bin ich",
    },
    negations: "nicht|kein|keine|keinen|keinesfalls|niemals|nie",
    mock_negations: "warum nicht|wieso nicht|nicht vergessen|nicht nur|nicht wahr|ob nicht",
    vetoes: &[
        Veto {
            kinds: &[Kind::NumberRange, Kind::CurrencyRange],
            before: "nicht|ausser|skala von|skala|note|noten|stufe|stufen|seite|seiten|kapitel|zeile|zeilen|zimmer|raum|linie|bus|kanal|nummer|gewonnen|verloren|stand|halb|viertel|version|frage|fragen|hausnummer|staffel|spiel",
            behind: "skala|punkte|sterne|gewonnen|verloren|uhr|prozentpunkte|unentschieden|job|jahrig|tore|tor|h|ecken",
        },
        Veto { kinds: &[Kind::NumberRange], before: "um|geoffnet|arbeite|offen", behind: "" },
        Veto {
            kinds: &[Kind::Date, Kind::DateTime, Kind::Time],
            before: "nicht|nicht am|nicht um|nicht vor|nicht den|nicht der|nicht dem|nicht erst|nicht schon|nicht mehr|ausser|ausser am|ausser um|nie|niemals|nur nicht|bloss nicht|kein|keine|\
                     keinen|statt|anstatt|anstelle|anstelle von|abgesehen von|mit ausnahme von|alles ausser|alle ausser",
            behind: "nicht|geht nicht|geht leider nicht|geht bei mir nicht|geht es nicht|geht s nicht|geht gar nicht|passt nicht|passt leider nicht|passt mir nicht|passt mir leider nicht|\
                     passt mir gar nicht|passt es nicht|passt es mir nicht|kann ich nicht|kann ich leider nicht|konnen wir nicht|konnen wir leider nicht|habe ich keine zeit|\
                     habe ich leider keine zeit|habe ich keinen|bin ich nicht|ist schlecht|ist ausgeschlossen|auf keinen fall|leider nicht|klappt nicht|klappt leider nicht|geht es leider nicht|geht es mir nicht|geht s leider nicht|geht das nicht|geht das leider nicht|geht auch nicht|geht es auch nicht|klappt es nicht|klappt es leider nicht|kann ich auch nicht|\
                     kann ich gar nicht|bin ich leider nicht|bitte nicht|lieber nicht|besser nicht|auch nicht|auf gar keinen fall|ist nicht|war nicht|ware nicht|eher nicht",
        },
        Veto {
            kinds: &[Kind::DateRange, Kind::TimeRange],
            before: "nicht|ausser|nur nicht",
            behind: "nicht|nicht mehr|geht nicht|geht es nicht|geht leider nicht|kann ich nicht|kann ich leider nicht|habe ich keine zeit|passt nicht|passt mir nicht|bin ich nicht|leider nicht|bitte nicht",
        },
        Veto { kinds: &[Kind::Number, Kind::Currency, Kind::Duration], before: "nicht|keine|kein|keinen", behind: "" },
        Veto { kinds: &[Kind::Number], before: "", behind: "k|halbe|halben|bis|- bis|- oder|prozentig|prozentige|prozentiger|dank|geben" },
        Veto { kinds: &[Kind::Number], before: "gib|gebt|geben sie", behind: "" },
        Veto { kinds: &[Kind::Number, Kind::Percent, Kind::Currency, Kind::Duration], before: "mehr als|weniger als|mehr wie", behind: "" },
        Veto {
            kinds: &[Kind::Number, Kind::Currency, Kind::Duration],
            before: "einige|mehrere|viele|ein paar|paar|etliche|ettliche|zig",
            behind: "",
        },
        Veto {
            kinds: &[Kind::Currency],
            before: "bis|zwanzig|dreissig|vierzig|funfzig|fuenfzig|sechzig|siebzig|achtzig|neunzig|hundert|einhundert|zweihundert|dreihundert|vierhundert|\
                     funfhundert|fuenfhundert|sechshundert|siebenhundert|achthundert|neunhundert|tausend|eintausend|zweitausend|dreitausend|viertausend|\
                     funftausend|fuenftausend",
            behind: "",
        },
        Veto {
            kinds: &[Kind::Ordinal],
            before: "am besten",
            behind: "linie|hilfe|welt|hand|januar|februar|marz|maerz|april|mai|juni|juli|august|september|oktober|november|dezember|weihnachtstag|weihnachtsfeiertag|feiertag|advent",
        },
        // From then on to what is not read.
        Veto { kinds: &[Kind::DateRange, Kind::TimeRange, Kind::DateTimeRange], before: "", behind: "bis" },
        // A part of a period, about it, or one of several.
        Veto {
            kinds: &[Kind::DateRange],
            before: "anfang|ende|mitte|gegen ende|gegen anfang|zu beginn|beginn|zum ende|anfang im|gegen|circa|ca|etwa|ungefahr|um|um den|rund um|rund um den|so um|fruhestens|spatestens|fruh|irgendwann|irgendwann im|irgendwann in|im laufe|im laufe des|innerhalb|erste halfte|ersten halfte|zweite halfte|zweiten halfte|halfte des|halfte|rest|rest des|teil|teil des|grossteil|spater|tag|tage|tagen|woche|wochen|mal|immer|meistens|jahrlich|einmal|zweimal",
            behind: "fruhestens|spatestens|oder so|oder spater|oder fruher|oder danach|oder davor|oder die woche|oder am tag|oder der|oder die|oder den|oder nachste|oder nachsten|oder nachstes|oder ubernachste|oder irgendwann|und danach|und daruber hinaus|ausgabe|rechnung|heft|budget",
        },
        Veto {
            kinds: &[Kind::Date, Kind::DateTime],
            before: "",
            behind: "oder am tag|oder am folgenden|oder am nachsten|oder den tag|oder tags darauf|oder so|oder spater|oder fruher|oder danach|oder irgendwann|oder wann",
        },
        Veto { kinds: &[Kind::Date, Kind::DateTime], before: "woche|wochen|wochenende", behind: "" },
    ],
    consent: Consent {
        yes: "alles richtig|alles korrekt|stimmt alles|alles stimmt|gar kein problem|uberhaupt kein problem|is ok|is gut|wird gemacht|ja glaube ich|ich akzeptiere|akzeptiere ich|akzeptiert|zustimmen|bestatigen|top|lauft|passt scho|eh klar|jaa|jaaa|jaaaa|ja eh|nichts dagegen|ich habe nichts dagegen|habe nichts dagegen|keine einwande|spricht nichts dagegen|mach ich|das mache ich|mache ich|kann losgehen|es kann losgehen|ich bin dafur|bin dafur|ja|jap|jep|jup|jepp|jo|joa|jawohl|jawoll|ja klar|klar|na klar|aber klar|alles klar|geht klar|logisch|logo|sicher|aber sicher|ganz sicher|sicherlich|naturlich|natuerlich|\
              aber naturlich|na sicher|selbstverstandlich|selbstverstaendlich|gern|gerne|sehr gern|sehr gerne|aber gerne|ok|okay|oki|okey|okidoki|o k|in ordnung|geht in ordnung|ist in ordnung|das ist in ordnung|\
              einverstanden|bin einverstanden|ich bin einverstanden|damit bin ich einverstanden|passt|passt so|passt mir|passt gut|das passt|das passt mir|das passt gut|das passt so|genau|genau so|ganz genau|genau richtig|richtig|\
              das ist richtig|ist richtig|stimmt|das stimmt|stimmt so|stimmt genau|korrekt|das ist korrekt|ist korrekt|auf jeden fall|jedenfalls|unbedingt|absolut|definitiv|bestatigt|ich bestatige|bestatige ich|hiermit bestatigt|\
              mach das|mach es|machen sie das|machen sie es|mach mal|machen wir|machen wir so|so machen wir das|so machen wir es|das machen wir|so soll es sein|tu das|tun sie das|nur zu|leg los|legen sie los|los gehts|los geht s|\
              auf gehts|gut|sehr gut|ganz gut|perfekt|super|prima|toll|klasse|spitze|wunderbar|hervorragend|klingt gut|klingt super|das klingt gut|hort sich gut an|das hort sich gut an|warum nicht|wieso nicht|von mir aus|\
              meinetwegen|kein problem|jederzeit|freilich|gewiss|zweifellos|kein zweifel|ohne zweifel|ich stimme zu|stimme zu|zustimmung|ich denke schon|ich denke ja|ich glaube schon|ich glaube ja|denke schon|glaube schon|\
              ich mochte|das mochte ich|ich will|das will ich|will ich|mochte ich|ja ich will|so ist es|so ist das|exakt|fein|recht so|mit vergnugen|aber hallo|da bin ich dabei|bin dabei|ich bin dabei|buchen sie das|bitte ausfuhren|abgemacht|\
              gebongt|geht klar|passt schon|richtig so|das geht|geht|ja das geht|das ware gut|das ware schon|das ware super|das ware toll|ware gut|ware schon|ware super|ware toll|das ware nett|gerne doch|freut mich|sehr schon",
        no: "ich stimme nicht zu|stimme ich nicht zu|ich akzeptiere nicht|ich akzeptiere das nicht|keine lust|will nicht|mag nicht|mag ich nicht|brauch ich nicht|lass mal|ne lass mal|lass gut sein|neein|neeein|mochte nicht|das geht so nicht|\
             geht so nicht|passt mir nicht so gut|passt mir nicht gut|so nicht|ich bin nicht dafur|nicht heute|nicht jetzt|ich bin dagegen|bin dagegen|klar nicht|auf keine weise|nein|ne|nee|no|nope|noe|nein danke|danke nein|nicht|gar nicht|uberhaupt nicht|auf keinen fall|auf gar keinen fall|keinesfalls|keineswegs|niemals|nie|nie im leben|lieber nicht|bloss nicht|besser nicht|eher nicht|bitte nicht|\
             heute nicht|jetzt nicht|falsch|das ist falsch|ist falsch|inkorrekt|stimmt nicht|das stimmt nicht|stimmt so nicht|das stimmt so nicht|nicht richtig|das ist nicht richtig|ist nicht richtig|nicht korrekt|das ist nicht korrekt|\
             ist nicht korrekt|passt nicht|das passt nicht|passt mir nicht|das passt mir nicht|passt mir gar nicht|passt mir leider nicht|das passt mir leider nicht|passt leider nicht|das passt leider nicht|geht leider nicht|das geht leider nicht|geht nicht|das geht nicht|will ich nicht|das will ich nicht|ich will nicht|ich will das nicht|mochte ich nicht|das mochte ich nicht|ich mochte nicht|\
             ich mochte das nicht|kein interesse|kein bedarf|abbrechen|abbruch|stopp|stop|abgelehnt|ich lehne ab|lehne ich ab|ablehnen|nicht einverstanden|ich bin nicht einverstanden|bin nicht einverstanden|damit bin ich nicht einverstanden|\
             nicht in ordnung|das ist nicht in ordnung|ist nicht in ordnung|nicht gut|nicht okay|nicht ok|das ist nicht okay|ich glaube nicht|ich denke nicht|glaube nicht|denke nicht|eigentlich nicht|sicher nicht|sicherlich nicht|\
             bestimmt nicht|naturlich nicht|definitiv nicht|absolut nicht|nicht wirklich|ganz und gar nicht|mach das nicht|machen sie das nicht|tun sie das nicht|nicht notig|nicht notwendig|das ist nicht notig|brauche ich nicht|brauchen wir nicht|\
             das brauche ich nicht|auf keinsten|vergiss es|vergessen sie es|kommt nicht in frage|ausgeschlossen|lass es|lassen sie es|unter keinen umstanden|von wegen|wenn moglich nicht|unrichtig",
        fillers: "ahm|aeh|bitte|danke|dankeschon|vielen dank|danke schon|besten dank|herzlichen dank|danke sehr|bitte sehr|sehr|das|es|ist|so|dann|also|na|ach|oh|ah|nun|ich|wir|mir|uns|fur mich|bin|bin ich|ganz|doch|halt|schon|und|dafur|damit|\
                  wirklich|herr|frau|total|hm|hmm|ach ja|ach so|aha|von meiner seite|meinerseits|an sich|eben|mal|hier|nett|nett von ihnen|lieb|gerade|zu|da|hallo|tut mir leid|leider|ihnen|dir|mein freund|jetzt|gleich|sofort|auch|sogar|aus meiner sicht",
        changes: "aber|jedoch|allerdings|nur|nur wenn|ausser|wenn|sofern|falls|sondern|stattdessen|lieber|unter der bedingung|vorausgesetzt|solange|bis auf|erst|mit ausnahme|und zwar|doch lieber|sobald|nachdem|anstatt|statt|besser|obwohl|mochte aber|ich mochte lieber",
        unsure: "na ja|nun ja|naja|doch nicht|nicht nur|mir geht|es geht|schon gut|weiss nicht|weiss ich nicht|ich weiss nicht|weiss ich noch nicht|ich weiss es nicht|weiss es nicht|weiss noch nicht|ich weiss noch nicht|keine ahnung|vielleicht|eventuell|mal sehen|mal schauen|schauen wir mal|warte|warte mal|warten|warten sie|moment|\
                 einen moment|moment mal|augenblick|einen augenblick|sekunde|spater|spaeter|noch nicht|nicht sicher|ich bin nicht sicher|ich bin mir nicht sicher|bin mir nicht sicher|bin nicht sicher|unsicher|kommt darauf an|kommt drauf an|das kommt darauf an|das kommt drauf an|je nachdem|\
                 egal|mir egal|ist mir egal|das ist mir egal|jein|weder noch|wahrscheinlich|wahrscheinlich nicht|vermutlich|moglicherweise|moglich|kann sein|konnte sein|muss ich uberlegen|muss ich mir uberlegen|uberlege noch|ich uberlege noch|noch unklar|\
                 keine meinung|ich verstehe nicht|verstehe nicht|verstehe ich nicht|das verstehe ich nicht|nicht verstanden|mit einem menschen|mit einem mitarbeiter|entweder oder|oder|nicht sofort|nicht gleich|gleich|ja und nein|nicht ganz|nicht ganz richtig|\
                 was|sicher dass|nicht ganz sicher|nicht so sicher",
        questions: "passt das|geht das|stimmt das|ist es|ist dies|klappt das|ist alles|was|wer|wann|wo|woher|wohin|wie|welche|welcher|welches|welchen|wieviel|kann ich|kannst du|konnen sie|konnten sie|konnte|ist das|sind sie|bist du|haben sie|hast du|darf ich|soll ich|gibt es|muss ich|wurden sie|ob|geht das|stimmt das|machen sie|wird|werden",
        inquiries: "ist|sind|war|waren|kostet|kosten|gibt es|habt ihr|haben sie|hast du|was|wie viel|wie viele|wie weit|wie lange|wie teuer|wann|wo|wer|welche|welcher|welches|warum|macht ihr|hat",
        proposals: "ok|okay|moglich|in ordnung|recht|passt|was ist mit|frei|verfugbar|ware|konnte|kann ich|konnen wir",
        yes_alone: "j|y|1|yes|yep|yeah",
        no_alone: "n|0|no",
    },
    commands: CommandWords {
        abbreviations: "",
        cancel: "abbrechen|abbruch|brich ab|brechen sie ab|breche ab|ich breche ab|stornieren|stopp|stop|halt|aufhoren|hor auf|\
                 horen sie auf|beenden|schluss|vergiss es|vergiss das|vergessen sie es|vergessen sie das|vergessen wir das|\
                 vergessen wir es|lass gut sein|lassen sie gut sein|lass es|lass das|lassen sie es|lassen sie das|lassen wir das|\
                 lassen wir es|lass mal|lieber nicht|doch nicht|schon gut|hat sich erledigt|das hat sich erledigt|\
                 ich hab s mir anders uberlegt|ich habe es mir anders uberlegt|ich hab es mir anders uberlegt|\
                 hab s mir anders uberlegt|ich will das nicht mehr|ich mochte das nicht mehr|ich will nicht mehr|\
                 ich mochte nicht mehr|ich gebe auf|das war s|raus hier|brich das ab|brechen sie das ab|abrechen",
        skip: "uberspringen|uberspring das|uberspringe das|uberspringen sie das|das uberspringen|diese frage uberspringen|\
               die frage uberspringen|uberspringen wir das|auslassen|das auslassen|nachste frage|zur nachsten frage|weiter|\
               weiter bitte|keine angabe|keine angaben|keine antwort|kein kommentar|mochte ich nicht sagen|\
               das mochte ich nicht sagen|das will ich nicht sagen|will ich nicht sagen|das sage ich nicht|sag ich nicht|\
               lass es leer|leer lassen|nicht zutreffend|entfallt|ohne angabe",
        repeat: "wiederholen|wiederholen sie|wiederhole|wiederhole das|wiederhol das|wiederholen sie das|das wiederholen|\
                 die frage wiederholen|wiederhol die frage|wiederholen sie die frage|noch einmal|noch mal|nochmal|nochmals|\
                 wie bitte|bitte was|was war die frage|was war das|was haben sie gesagt|was hast du gesagt|was haben sie gefragt|\
                 was hast du gefragt|sag das noch mal|sag das nochmal|sagen sie das noch mal|sagen sie das nochmal|\
                 sagen sie das noch einmal|sag das noch einmal|das habe ich nicht mitbekommen|ich habe das nicht mitbekommen|\
                 das hab ich nicht mitbekommen|\
                 das habe ich schon gesagt|das hab ich schon gesagt|das habe ich gerade gesagt|\
                 das hab ich gerade gesagt|hab ich doch gesagt|habe ich doch gesagt|das sagte ich schon|\
                 das sagte ich bereits|das habe ich bereits gesagt|hab ich doch gerade gesagt|\
                 habe ich doch gerade gesagt|das habe ich doch schon gesagt|das hab ich doch schon gesagt|wie gesagt|\
                 das hast du schon gefragt|das haben sie schon gefragt",
        help: "hilfe|hilf mir|helfen sie mir|ich brauche hilfe|ich brauche unterstutzung|was|ha|was meinst du|was meinen sie|\
               was meinst du damit|was meinen sie damit|was bedeutet das|was heisst das|was soll das heissen|\
               was soll das bedeuten|was ist das|was ist damit gemeint|was willst du|was wollen sie|was willst du wissen|\
               was wollen sie wissen|was wollen sie von mir|was willst du von mir|warum|wieso|weshalb|wozu|wofur|warum fragst du|\
               warum fragen sie|warum fragst du das|warum fragen sie das|warum fragen sie mich das|wieso fragen sie|\
               wieso fragst du|wieso fragen sie das|wieso fragst du das|warum willst du das wissen|warum wollen sie das wissen|\
               wieso wollen sie das wissen|wieso willst du das wissen|wozu wollen sie das wissen|wozu willst du das wissen|\
               warum brauchen sie das|warum brauchst du das|wozu brauchen sie das|wozu brauchst du das|wofur brauchen sie das|\
               wofur brauchst du das|wieso brauchen sie das|wieso brauchst du das|warum ist das notig|wozu ist das gut|\
               ich verstehe nicht|ich verstehe das nicht|ich verstehe die frage nicht|versteh ich nicht|das verstehe ich nicht|\
               ich versteh s nicht|ich bin verwirrt|was soll ich sagen|was soll ich eingeben|was soll ich schreiben|\
               was soll ich hier eingeben|was muss ich tun|was muss ich eingeben|was kann ich sagen|was kann ich tun|\
               was kann ich hier tun|was kann ich fragen|welche moglichkeiten gibt es|welche moglichkeiten habe ich|\
               welche optionen gibt es|welche optionen habe ich|was gibt es fur moglichkeiten|erklar das|erklaren sie das|\
               erklar mir das|erklaren sie mir das|was nun|was jetzt|wie geht das|wie funktioniert das|wieso das denn|warum das denn|warum das|wozu das|wozu das denn|wofur das",
        back: "zuruck|geh zuruck|gehen sie zuruck|zuruck gehen|zuruckgehen|einen schritt zuruck|ein schritt zuruck|einen zuruck|\
               eins zuruck|vorherige frage|zur vorherigen frage|die vorherige frage|vorige frage|zur vorigen frage|letzte frage|\
               zur letzten frage|zuruck zur letzten frage|zuruck zur vorherigen frage|ruckgangig|ruckgangig machen|\
               mach das ruckgangig|machen sie das ruckgangig|meine letzte antwort andern|die letzte antwort andern|\
               letzte antwort andern|ich habe mich vertan|ich hab mich vertan|ich habe mich geirrt|das war falsch|geh einen schritt zuruck",
        start_over: "von vorne|von vorn|noch einmal von vorne|noch einmal von vorn|nochmal von vorne|nochmal von vorn|\
                     noch mal von vorne|noch mal von vorn|neu anfangen|neu starten|neustart|neu beginnen|von neuem|von neuem beginnen|\
                     von vorne anfangen|von vorn anfangen|von vorne beginnen|von vorn beginnen|alles von vorne|alles von vorn|\
                     noch einmal anfangen|nochmal anfangen|zurucksetzen|alles zurucksetzen|zuruck zum anfang|zum anfang|an den anfang|\
                     hauptmenu|zum hauptmenu|zuruck zum hauptmenu|neues gesprach",
        person: "mensch|einen menschen|ein mensch|einem menschen|echter mensch|ein echter mensch|einen echten menschen|\
                 einem echten menschen|richtiger mensch|einen richtigen menschen|einem richtigen menschen|mitarbeiter|\
                 einen mitarbeiter|einem mitarbeiter|ein mitarbeiter|mitarbeiterin|einer mitarbeiterin|eine mitarbeiterin|\
                 ihrem mitarbeiter|einem kollegen|einen kollegen|berater|einen berater|einem berater|ein berater|agent|\
                 einen agenten|einem agenten|person|eine person|einer person|eine echte person|einer echten person|jemandem|\
                 jemand echtem|mit jemandem|kundendienst|den kundendienst|dem kundendienst|kundenservice|den kundenservice|\
                 dem kundenservice|kundenbetreuer|einen kundenbetreuer|support|den support|dem support|sachbearbeiter|\
                 einen sachbearbeiter|einem sachbearbeiter|vorgesetzten|ihren vorgesetzten|ihrem vorgesetzten|den chef",
        fillers: "bitte|danke|ok|okay|oh|ach|ah|ahm|hm|na|nein|ja|also|dann|einfach|mal|doch|jetzt|lieber|gerne|gern|sorry|\
                  entschuldigung|kannst du|konntest du|konnen sie|konnten sie|konnen wir|konnten wir|kann ich|konnte ich|darf ich|\
                  wurden sie|ich mochte|ich will|ich wurde|ich wurde gerne|ich wurde gern|ich hatte gerne|ich hatte gern|ich brauche|\
                  wir konnen|ich muss|lass uns|lassen sie uns|lass mich|lassen sie mich|sprechen|reden|mit|verbinden|\
                  verbinden sie mich|verbinden sie mich mit|verbinde mich|verbinde mich mit|das|alles|hier|sofort|bitte mit|zu|\
                  geben sie mir|gib mir|und|hallo|hey|aber|es|gibt es|ist da|einmal|die frage|das ganze|kurz|zum|zur|mir|uns|wir|bot|\
                  endlich|direkt|warte|warte mal|warten sie|moment|moment mal|sekunde|halt|stimmt|ach so|ach ja|naja|na ja|leute|ups|hoppla",
        corrections: "ich sagte|ich habe gesagt|ich hab gesagt|nein warte|nein warten sie|nee warte|ne warte|warte|warten sie|warte nein|halt nein|nein halt|moment|nein moment|\
                      moment nein|nein|nein sorry|sorry|entschuldigung|nein entschuldigung|pardon|besser gesagt|vielmehr|oder vielmehr|\
                      beziehungsweise nein|doch lieber|lieber|doch eher|quatsch|ach nein|ach quatsch|mach daraus|machen sie daraus|\
                      sagen wir|sondern|eigentlich|doch|auf keinen fall|niemals|nee|no way",
        retractions: "ich meine|ich meinte|meine|meinte|ich meine naturlich|ich meinte naturlich|ich wollte sagen|wollte sagen|korrektur|\
                      falsch|das war falsch|mein fehler|es muss heissen|muss heissen|andere das auf|andern sie das auf|andere es auf|\
                      andern sie es auf",
        endings: "stattdessen|lieber|doch lieber",
        refusals: "will nicht|will kein|will keine|will keinen|mochte nicht|mochte kein|mochte keine|mochte keinen|wollte nicht|\
                   wollte kein|wollte keine|wollte keinen|wollen nicht|wollen kein|wollen keine|wollen keinen|bitte nicht|bitte kein|\
                   bitte keine|bitte keinen|lieber nicht|lieber kein|lieber keine|lieber keinen|brauche kein|brauche keine|\
                   brauche keinen|brauche nicht|muss nicht|habe nicht vor|ich werde nicht|ich werde kein|ich werde keine|ich werde keinen",
        first_refusals: "nicht|kein|keine|keinen",
        last_refusals: "",
        denials_before: "nicht|kein|keine|keinen|anstatt|statt|ohne|ausser|alles ausser|aber nicht|und nicht|auf keinen fall|ist nicht|war nicht|hasse|ich hasse|allergisch gegen|weder|noch nicht",
        or: "oder",
        denials_behind: "lieber nicht|auf keinen fall|ist unmoglich|geht nicht|passt nicht|passt mir nicht|ist zu spat|ist zu fruh|ist zu weit|ist zu viel|ist falsch|ist schlecht|war falsch|klappt nicht|ist nicht moglich",
        links: "der|die|das|den|dem|am|an|in|im|nach|von|vom|zu|zum|zur|aus|um|fur|mit|bis|auf|auf das|aufs|ab",
        links_behind: "",
        additions: "und|auch|dazu|plus|noch|ausserdem|und noch|und auch|mit",
        last_additions: "auch|noch dazu|dazu|obendrauf",
    },
};
