//! French.

use super::command_words::CommandWords;
use super::{Consent, Language, NumberWords, RangeWords, Veto};
use crate::action::Action;
use crate::calendar::{Part, Unit};
use crate::category::Category;
use crate::kind::Kind;

/// Words before a duration.
macro_rules! lasting {
    () => {
        "(pendant|durant|pour|dure|durent|durera|dureront|durait|duree de|duree|une duree de|prend|prendra|prennent|prendre|faut|faudra|\
          compte|comptez|compter|prevoyez|prevoir|encore|en|sous|passe|passer|attends|attendu|attendre|attente de|retard de|ai|as|avons|\
          avez|ont|fait|fera|reste|restent|rester|ca fait|sur|environ|dans les|une seance de|un cours de|un trajet de|un vol de|un film de|\
          un massage de|une sieste de|une pause de|une reunion de|une visite de|une escale de|un delai de|un forfait de|une consultation de|\
          un rendez vous de|une location de|un creneau de|une balade de|un soin de)"
    };
}

/// Words before a time that could be a duration.
macro_rules! clock_context {
    () => {
        "(a|vers|des|il est|c est|sera|sera a|c etait|plutot|rdv|rendez vous|disons|mettez|mettons|va pour|vers les|aux environs de|aux alentours de|\
          autour de|heure de depart|heure d arrivee|depart|arrivee|rv|prenons|d accord pour|ok pour|ok|oui|non|peu pres|environ a)"
    };
}

/// What hours of work, travel or waiting are followed by.
macro_rules! hour_nouns {
    () => {
        "(retard|avance|route|vol|marche|train|trajet|voiture|travail|cours|sommeil|conduite|attente|repos|formation|decalage|bateau|avion|menage|\
          parking|stationnement|location|massage|reunion|preparation|cuisson|connexion|pause|garde|queue|transport|bus|escale|film|sport|perfusion|delai|\
          preavis|plus|moins|temps)"
    };
}

/// What begins at a time that it is called by.
macro_rules! at_hour {
    () => {
        "(le|au|du|ce|celui|celle) (train|vol|bus|car|bateau|ferry|tgv|avion|cours|creneau|rendez vous|rdv|service|film|rappel)? de"
    };
}

/// Who comes or goes alone: behind it no people are counted.
macro_rules! comes {
    () => {
        "(j arrive|j arriverai|je viendrai|je reviendrai|je reviens|je retournerai|je rentre|je rentrerai|je repasserai|je passerai|je serai la|\
          je serai de retour)"
    };
}

/// Words before an hour that is said without its name.
macro_rules! hour_context {
    () => {
        "(a|vers|il est|alarme a|alarme pour|alarm a|alarm pour|reveil a|reveil pour|rappel a|rappel pour|j arriverai|j arrive|je viendrai|je reviendrai|\
          je reviens|je retournerai|je rentre|je rentrerai|je passerai)"
    };
}

/// Parts of the day behind an hour that stands behind words for it.
macro_rules! in_morning {
    () => {
        "(dans la matinee|dans le matin|en matinee)"
    };
}
macro_rules! in_evening {
    () => {
        "(dans la soiree|dans le soiree|en soiree)"
    };
}

/// Weekdays in the plural.
macro_rules! weekdays {
    () => {
        "(lundis|mardis|mercredis|jeudis|vendredis|samedis|dimanches)"
    };
}

/// Words behind a day of a month that is said without its month.
macro_rules! day_ends {
    () => {
        "(a|au|pour|vers|et|ou|si|c|je|j|on|nous|svp|merci|de preference|si possible|mais|ca|avec|dans|car|comme|plutot|matin|soir|apres midi|\
          midi|s il vous plait|s il te plait|stp|me convient|me va|nous convient|nous va|me conviendrait|serait parfait)"
    };
}

pub(super) static LANGUAGE: Language = Language {
    code: "fr",
    numbers: NumberWords {
        cardinals: &[
            ("zero", 0),
            ("un|une", 1),
            ("deux", 2),
            ("trois", 3),
            ("quatre", 4),
            ("cinq", 5),
            ("six", 6),
            ("sept", 7),
            ("huit", 8),
            ("neuf", 9),
            ("dix", 10),
            ("onze", 11),
            ("douze", 12),
            ("treize", 13),
            ("quatorze", 14),
            ("quinze", 15),
            ("seize", 16),
            ("dix sept|dixsept", 17),
            ("dix huit|dixhuit", 18),
            ("dix neuf|dixneuf", 19),
            ("vingt|vingts", 20),
            ("trente", 30),
            ("quarante", 40),
            ("cinquante", 50),
            ("soixante", 60),
            ("septante", 70),
            ("quatre vingt|quatre vingts|octante|huitante", 80),
            ("nonante", 90),
        ],
        multipliers: &[
            ("cent|cents", 100),
            ("mille|milles|mil|millier|milliers|k", 1_000),
            ("million|millions|mio", 1_000_000),
            ("milliard|milliards|mrd|mrds|mds", 1_000_000_000),
            ("billion|billions", 1_000_000_000_000),
        ],
        ordinals: &[
            ("premier|premiere", 1),
            ("unieme", 1),
            ("vingt et unieme", 21),
            ("deuxieme|second|la seconde|ma seconde|votre seconde|notre seconde", 2),
            ("troisieme", 3),
            ("quatrieme", 4),
            ("cinquieme", 5),
            ("sixieme", 6),
            ("septieme", 7),
            ("huitieme", 8),
            ("neuvieme", 9),
            ("dixieme|dizieme", 10),
            ("onzieme", 11),
            ("douzieme", 12),
            ("treizieme", 13),
            ("quatorzieme", 14),
            ("quinzieme", 15),
            ("seizieme", 16),
            ("dix septieme", 17),
            ("dix huitieme", 18),
            ("dix neuvieme", 19),
            ("vingtieme", 20),
            ("trentieme", 30),
            ("quarantieme", 40),
            ("cinquantieme", 50),
            ("soixantieme", 60),
            ("septantieme", 70),
            ("quatre vingtieme|octantieme|huitantieme", 80),
            ("nonantieme", 90),
            ("centieme", 100),
            ("millieme", 1_000),
            ("millionieme", 1_000_000),
            ("milliardieme", 1_000_000_000),
            ("billionieme", 1_000_000_000_000),
        ],
        ordinal_signs: "er|ere|re|e|eme|ieme|nd|nde|emes",
        ordinal_endings: "",
        parts: &[
            ("demi|demie|demis|demies", 2),
            ("tiers", 3),
            ("quart|quarts|quatrieme|quatriemes", 4),
            ("cinquieme|cinquiemes", 5),
            ("sixieme|sixiemes", 6),
            ("septieme|septiemes", 7),
            ("huitieme|huitiemes", 8),
            ("neuvieme|neuviemes", 9),
            ("dixieme|dixiemes", 10),
            ("douzieme|douziemes", 12),
            ("seizieme|seiziemes", 16),
            ("vingtieme|vingtiemes", 20),
            ("vingt et unieme|vingt et uniemes", 21),
            ("trentieme|trentiemes", 30),
            ("cinquantieme|cinquantiemes", 50),
            ("centiemes", 100),
            ("milliemes", 1_000),
            ("millioniemes", 1_000_000),
            ("milliardiemes", 1_000_000_000),
            ("billioniemes", 1_000_000_000_000),
        ],
        additions: &[
            ("et demi|et demie|et un demi|et une demie|et une demi", 1, 2),
            ("et quart|et un quart|et un quatrieme", 1, 4),
            ("et trois quarts", 3, 4),
            ("et un tiers", 1, 3),
            ("et deux tiers", 2, 3),
        ],
        prefixes: &[],
        // "deux centième" is an ordinal.
        fractions: &[
            ("un et un demi|un et une demie|une et une demie", 3, 2),
            ("un et un quart|un et un quatrieme", 5, 4),
            ("un centieme", 1, 100),
            ("un millieme", 1, 1_000),
            ("un millionieme", 1, 1_000_000),
            ("un milliardieme", 1, 1_000_000_000),
            ("un billionieme", 1, 1_000_000_000_000),
        ],
        groups: &[("douzaine|douzaines", 12)],
        and: "et",
        has_ones_first: false,
        is_compound: false,
        is_one_implied: true,
        tens_before_teens: &[60, 80],
        point: "virgule|point",
        minus: "moins|negatif|negative",
        percent: "pour cent|pour cents|pourcent|pourcents|pourcentage|pourcentages|p cent|pct",
        articles: "un|une",
        short_multipliers: &[("k", 1_000), ("~m", 1_000_000), ("mds|mrd|md", 1_000_000_000)],
        over: "sur",
        of: "d|de",
        before_pronoun: "l|quelqu|chaque|pas|encore|les|ni|qu|c est|comme",
        behind_pronoun: "de|des|du|d|autre|peu|seul|seule|instant|moment|fois|chose|question|questions|probleme|seconde|minute|idee|souci|erreur|bon|bonne|\
                         petit|petite|dizaine|quinzaine|vingtaine|trentaine|quarantaine|cinquantaine|centaine|huitaine|poignee|grand|grande|nouveau|nouvelle|par un|par une|certain|certaine|tel|telle|jour|tout|beau|belle|qui|que|a un|a une|vrai|vraie",
    },
    rules: &[
        (
            Category::Month,
            &[
                ("janvier|janv|jan", Action::Month(1)),
                ("fevrier|fevr|fev", Action::Month(2)),
                ("mars", Action::Month(3)),
                ("avril|avr", Action::Month(4)),
                ("mai", Action::Month(5)),
                ("juin", Action::Month(6)),
                ("juillet|juil|juill", Action::Month(7)),
                ("aout", Action::Month(8)),
                ("septembre|sep", Action::Month(9)),
                ("sept .", Action::Month(9)),
                ("octobre|oct", Action::Month(10)),
                ("novembre|nov", Action::Month(11)),
                ("decembre|dec", Action::Month(12)),
            ],
        ),
        (
            Category::Weekday,
            &[
                ("lundi", Action::Weekday(1)),
                ("mardi", Action::Weekday(2)),
                ("mercredi", Action::Weekday(3)),
                ("jeudi", Action::Weekday(4)),
                ("vendredi", Action::Weekday(5)),
                ("samedi", Action::Weekday(6)),
                ("dimanche", Action::Weekday(7)),
            ],
        ),
        // Names that are words as well.
        (
            Category::ShortWeekday,
            &[
                ("{weekday}", Action::Same),
                ("lun", Action::Weekday(1)),
                ("mar", Action::Weekday(2)),
                ("mer", Action::Weekday(3)),
                ("jeu", Action::Weekday(4)),
                ("ven|vend", Action::Weekday(5)),
                ("sam", Action::Weekday(6)),
                ("dim", Action::Weekday(7)),
            ],
        ),
        // "j" and "s" are also elided words.
        (
            Category::Unit,
            &[
                ("ans|an|annees|annee", Action::Unit(Unit::Year)),
                ("mois", Action::Unit(Unit::Month)),
                ("semaines|semaine|sem", Action::Unit(Unit::Week)),
                ("jours|jour|journees|journee", Action::Unit(Unit::Day)),
                ("heures|heure|hrs|hr|h", Action::Unit(Unit::Hour)),
                ("minutes|minute|mins|min|mn", Action::Unit(Unit::Minute)),
                ("secondes|seconde|secs|sec", Action::Unit(Unit::Second)),
                ("trimestres|trimestre", Action::Unit(Unit::Quarter)),
                ("decennies|decennie", Action::Unit(Unit::Decade)),
                ("siecles|siecle", Action::Unit(Unit::Century)),
            ],
        ),
        // "2 le matin" and "8 ce soir" count things.
        (
            Category::Part,
            &[
                ("am|a m|ampm", Action::Part(Part::Am)),
                ("pm|p m", Action::Part(Part::Pm)),
                ("du matin|du mat|de la matinee|de matinee|du matinee|de matin", Action::Part(Part::Morning)),
                ("de l apres midi|de l aprem|de l apres midi", Action::Part(Part::Afternoon)),
                ("du soir|de soir|de la soiree|de soiree|du soiree", Action::Part(Part::Evening)),
                ("de la nuit", Action::Part(Part::Night)),
            ],
        ),
        (
            Category::Year,
            &[
                ("cette annee", Action::YearOffset(0)),
                ("l annee prochaine|l an prochain", Action::YearOffset(1)),
                ("l annee derniere|l an dernier", Action::YearOffset(-1)),
            ],
        ),
        (
            Category::Span,
            &[
                ("{number} (nuit|nuits|nuitee|nuitees)", Action::CountOfUnit(Unit::Day)),
                ("{number} (-)? {unit}", Action::Count),
                (
                    "{number} (autre|autres|bon|bonne|bons|bonnes|plein|pleine|pleines|pleins|long|longs|longue|longues|petite|petites) {unit}",
                    Action::Count,
                ),
                (
                    "{number} {unit} (entier|entiere|entiers|entieres|complet|complete|complets|completes|pleine|de plus|supplementaire|supplementaires)",
                    Action::Count,
                ),
                ("(un|1|tout le|tout un) semestre", Action::FractionOf(6, 1, Unit::Month)),
                ("(un|1) semestre et demi", Action::FractionOf(9, 1, Unit::Month)),
                ("(deux|2) semestres", Action::FractionOf(12, 1, Unit::Month)),
                ("(trois|3) semestres", Action::FractionOf(18, 1, Unit::Month)),
                ("(quatre|4) semestres", Action::FractionOf(24, 1, Unit::Month)),
                ("(six|6) semestres", Action::FractionOf(36, 1, Unit::Month)),
                ("(une|un)? demi {unit}", Action::Fraction(1, 2)),
                ("(un)? quart (d|de l) {unit}", Action::Fraction(1, 4)),
                ("(trois|3) quarts (d|de l) {unit}", Action::Fraction(3, 4)),
                ("(tout|toute) (le|la|l) {unit}", Action::Count),
                ("{number} et (demi|demie) {unit}", Action::CountAndFraction(1, 2)),
            ],
        ),
        (
            Category::Duration,
            &[
                // Ages, times and what is only near.
                (
                    "(j ai|il a|elle a|ai|age de|agee de|aura|a eu|avais|avait|fils a|fille a|enfant a|bebe a|mari a|femme a|pere a|mere a|frere a|soeur a) {number} ans (et demi)?",
                    Action::Nothing,
                ),
                (
                    "(enfant|enfants|fille|fils|bebe|garcon|homme|femme|personne|adulte|ado|adolescent|client|cliente|mineur) (de|d) {number} ans",
                    Action::Nothing,
                ),
                (
                    "(plus de|plus d|moins de|moins d|au moins|au plus|maximum|minimum|pres de|pres d|presque|entre|d ici|a peine|pas plus de|pas plus d|pas moins de|pas moins d|jusqu a|au bout de|au bout d|au dela de|au dela d|depuis plus de|depuis plus d) {duration}",
                    Action::Nothing,
                ),
                ("(de|entre) {number} (a|et|ou) {duration}", Action::Nothing),
                // Two durations, not their sum.
                (concat!("{span} (,)? ", lasting!(), " {span}"), Action::Nothing),
                (concat!("{span} (,)? ", lasting!(), " {span} {digits}"), Action::Nothing),
                ("un semestre (sur|par)", Action::Nothing),
                ("(un|1) semestre et demi", Action::FractionOf(9, 1, Unit::Month)),
                ("^ trimestre $", Action::FractionOf(3, 1, Unit::Month)),
                ("^ semestre $", Action::FractionOf(6, 1, Unit::Month)),
                ("a {clock} (pendant|durant) {span}", Action::Same),
                // "à 19h30 pour 20h" is when one comes, and when it begins.
                ("a {clock} pour (2|deux) (heures|h)", Action::FractionOf(2, 1, Unit::Hour)),
                ("a {clock} pour (3|trois) (heures|h)", Action::FractionOf(3, 1, Unit::Hour)),
                ("a {clock} pour {hour} (heures|heure|h)", Action::Nothing),
                ("a {clock} pour {hour} (heures|heure|h) {minute}", Action::Nothing),
                ("a {clock} pour {span} (du matin|du soir|de l apres midi|pile|precises|et quart|et demie|moins)", Action::Nothing),
                ("a {clock} pour {span}", Action::Same),
                ("{number} (a|ou|-|/) {span}", Action::Nothing),
                ("{number} {unit} (sur|/) {number}", Action::Nothing),
                ("{number} {unit} / {unit}", Action::Nothing),
                ("(il|elle|on|client) a {span}", Action::Same),
                (concat!(clock_context!(), " {clock}"), Action::Nothing),
                (
                    "(avant|apres|a partir de|jusqu a|jusque|entre|de|pour|et) {clock} (du matin|du soir|de l apres midi|pile|precises|precise)",
                    Action::Nothing,
                ),
                ("(avant|jusqu a|a partir de|depuis|apres) {hour} (h|heures) {minute}?", Action::Nothing),
                ("(une|1) heure (du matin|de l apres midi)", Action::Nothing),
                ("pour (12|13|18|19|20|21|22|23) (h|heures)", Action::Nothing),
                ("pour {hour} h {digits}", Action::Nothing),
                ("{hour} heures (pile|precises|du matin|du soir|de l apres midi|tapantes)", Action::Nothing),
                ("{hour} heures (et quart|moins le quart|moins {minute}|et {minute})", Action::Nothing),
                (concat!(at_hour!(), " {clock}"), Action::Nothing),
                ("(la|a la|de la) (seance|visite|consultation|reunion|messe|navette) de {clock}", Action::Nothing),
                ("a {span}", Action::Nothing),
                // Hours in short are a duration as the whole answer, or with words that say so.
                ("^ (7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|07|08|09) h {digits} $", Action::Nothing),
                ("^ (8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23) h $", Action::Nothing),
                ("^ {span} $", Action::Same),
                ("^ {span} {digits} $", Action::AndSmaller),
                ("^ {span} {minute} $", Action::AndSmaller),
                ("^ (7|8|9|10|11|12|13|14|15|16|17|18|19|20|21|22|23|07|08|09) h {minute} (min|mn|minutes) $", Action::Nothing),
                ("^ {span} {minute} (min|mn|minutes) $", Action::AndSmaller),
                ("{span} et (demi|demie)", Action::AndFraction(1, 2)),
                ("{span} et (un)? quart", Action::AndFraction(1, 4)),
                ("{span} et trois quarts", Action::AndFraction(3, 4)),
                ("{span} (,)? et {duration}", Action::Sum),
                (concat!(lasting!(), " {span}"), Action::Same),
                (concat!(lasting!(), " {span} (et)? {span}"), Action::Sum),
                (concat!(lasting!(), " {span} {digits}"), Action::AndSmaller),
                (concat!(lasting!(), " {span} {minute} $"), Action::AndSmaller),
                (concat!(lasting!(), " {span} et demie"), Action::AndFraction(1, 2)),
                (concat!("{span} (de|d) ", hour_nouns!()), Action::Same),
                (concat!("{span} {digits} (de|d) ", hour_nouns!()), Action::AndSmaller),
                ("{number} (nuit|nuits) (blanche|blanches)", Action::Nothing),
                ("24 {unit}", Action::CountOf(24)),
                ("{hour} h", Action::Nothing),
                ("{hour} h {minute}", Action::Nothing),
                ("{hour} h {minute} (min|mn|minutes|m)", Action::Nothing),
                ("{number} heures {digits}", Action::Nothing),
                ("{number} (heure|heures) {minute} $", Action::Nothing),
            ],
        ),
        (
            Category::Date,
            &[
                // What looks like a day.
                ("{minute} . {minute} (€|euro|euros|eur|£|chf|francs|dollars|%|kg|km|cm|mm|m|pouces|ghz|go|litres|litre)", Action::Nothing),
                ("^ a (demain|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche) $", Action::Nothing),
                (
                    "(vacances|cadeau|cadeaux|marche|menu|repas|carte|periode|offre|offres|promo|promos|fetes|soldes|chocolats|oeufs|sapin|prime) (de|d)? (noel|paques|la saint valentin|halloween|la toussaint|fin d annee|nouvel an)",
                    Action::Nothing,
                ),
                ("(joyeux|joyeuse|joyeuses|bon|bonne) (noel|paques|saint valentin|fin d annee|fetes|nouvel an)", Action::Nothing),
                ("(du|de) jour au lendemain", Action::Nothing),
                ("(le)? prochain {weekday}", Action::Nothing),
                ("{weekday} (suivant|d apres|precedent|ou|sur)", Action::Nothing),
                ("dans (huit|8|quinze|15) jours", Action::Nothing),
                ("(expire|expiration|expirent|validite) (le|en|au|fin|:)? {minute} / {minute}", Action::Nothing),
                ("(semaine|nuit|week end|weekend) (du|de|d) {date}", Action::Nothing),
                ("{minute} / {minute} ({unit}|tarif|pension|portion|baguette|kilo|kg|litre)", Action::Nothing),
                ("(le)? (vendredi noir|black friday) {year}?", Action::DaysAfterHoliday(11, 4, 4, 1)),
                ("(le)? (cyber monday|cyber lundi|cyberlundi) {year}?", Action::DaysAfterHoliday(11, 4, 4, 4)),
                ("un (vendredi noir|black friday)", Action::Nothing),
                (
                    "(offre|offres|soldes|promo|promos|promotion|promotions|prix|remise|remises|semaine|week end) (du|de|pour le) (vendredi noir|black friday|cyber monday)",
                    Action::Nothing,
                ),
                ("(le|la) (2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|20) (e|eme|ieme|nd) $", Action::Nothing),
                // What looks like a number.
                (
                    "(quoi de|tout|flambant|comme|a|en|du|est|etat|telephone|velo|appartement|logement|vehicule|produit|modele|appareil|ordinateur) neuf",
                    Action::Nothing,
                ),
                (
                    "(demi|demie) (pension|tour|journee|journees|heure|heures|soeur|frere|tarif|portion|portions|an|finale|sec|bouteille|pinte|douzaine)",
                    Action::Nothing,
                ),
                ("(tous les|toutes les) (deux|trois|quatre)", Action::Nothing),
                ("(deux|trois|dix|cent|mille) fois (merci|rien|desole|oui|non)", Action::Nothing),
                ("mille (merci|mercis|excuses|fois)", Action::Nothing),
                ("(cent|mille) fois", Action::Nothing),
                ("(en|coupe en|couper en) (deux|quatre|2) (mots|temps|trois mouvements)", Action::Nothing),
                ("un (de ces|des) quatre", Action::Nothing),
                ("a (deux|2) (pas|doigts|mains|balles)", Action::Nothing),
                ("(le)? {day} {month} (dernier|passe)", Action::Nothing),
                (
                    "(le)? {day} {month} (a|en)? dix neuf (quarante|cinquante|soixante|soixante dix|quatre vingt|quatre vingt dix) {number}?",
                    Action::Nothing,
                ),
                ("le {minute} {weekday}", Action::Nothing),
                // Days.
                ("aujourd hui|aujourdhui|auj|ce jour", Action::Days(0)),
                ("demain", Action::Days(1)),
                ("hier", Action::Days(-1)),
                ("apres demain", Action::Days(2)),
                ("avant hier", Action::Days(-2)),
                ("le (apres demain)", Action::Days(2)),
                ("{weekday}", Action::ComingWeekday),
                ("(ce|cette|le|pour|des) {weekday}", Action::ComingWeekday),
                ("{weekday} (qui vient|a venir|qui arrive)", Action::ComingWeekday),
                ("(ce|le)? {weekday} prochain", Action::WeekdayOfWeek(1)),
                ("(le)? {weekday} (de)? (la)? semaine prochaine", Action::WeekdayOfWeek(1)),
                ("la semaine prochaine (,)? (le)? {weekday}", Action::WeekdayOfWeek(1)),
                ("(le)? {weekday} (dernier|derniere|passe|passee)", Action::WeekdayOfWeek(-1)),
                ("(le)? {weekday} (de)? (la)? semaine (derniere|dernier|passee)", Action::WeekdayOfWeek(-1)),
                ("la semaine (derniere|passee) (,)? (le)? {weekday}", Action::WeekdayOfWeek(-1)),
                ("(le)? {weekday} (de)? cette semaine", Action::WeekdayOfWeek(0)),
                ("cette semaine (,)? (le)? {weekday}", Action::WeekdayOfWeek(0)),
                ("{weekday} en huit", Action::WeekdayPlusWeeks(1)),
                ("{weekday} en quinze", Action::WeekdayPlusWeeks(2)),
                ("(le|ce) {date}", Action::Same),
                ("(date|date du|datee du|date de) {date}", Action::Same),
                // Several days, not the last of them.
                ("(le)? {wd} (,)? (le)? {wd} (,|et|ou)? (le)? {wd}?", Action::Nothing),
                ("(le)? {wd} (,)? (le)? {date}", Action::Same),
                ("{day} {month}", Action::Calendar),
                ("{day} (jour de|de|,) {month}", Action::Calendar),
                ("{day} {month} (,|de|en)? {year}", Action::Calendar),
                ("{day} (jour de|de) {month} (,)? {year}", Action::Calendar),
                ("{day} {month} {short} $", Action::Calendar),
                ("{day} (/|-|.) {month}", Action::Calendar),
                ("{day} (/|-|.) {month} (/|-|.)? {year}", Action::Calendar),
                ("{day} - {month} - {short}", Action::Calendar),
                ("(le)? {weekday} {minute} (-|/|.) {minute}", Action::Calendar),
                ("{month} - {day} - {year}", Action::Calendar),
                ("{month} - {year} - {day}", Action::Calendar),
                ("{day} - {year} - {month}", Action::Calendar),
                // "mai-25" is a month of a year.
                ("{month} - {digits} $", Action::Nothing),
                ("{month} - {day} $", Action::Calendar),
                (concat!(comes!(), " (le)? {minute} {minute} {minute} {minute}"), Action::Nothing),
                (concat!(comes!(), " (le)? {minute} {minute} {short} $"), Action::Calendar),
                (concat!(comes!(), " (le)? {minute} {minute} {short} ", day_ends!()), Action::Calendar),
                (concat!(comes!(), " lendemain $"), Action::Days(1)),
                ("{month} {day} (,)? {year}", Action::Calendar),
                ("{month} {day} $", Action::Calendar),
                ("(le)? {weekday} (,)? {month} {day}", Action::Calendar),
                ("(le)? {weekday} (,)? {month} {day} (,)? {year}", Action::Calendar),
                ("{year} (/|-) {month} (/|-) {day}", Action::Calendar),
                ("{digits} {digits} {year}", Action::Calendar),
                ("{digits} / {digits} (,)? {year}", Action::Calendar),
                ("le {digits} - {digits}", Action::Calendar),
                ("(le)? {wd} (le)? {minute} $", Action::Calendar),
                (concat!("(le)? {wd} (le)? {minute} ", day_ends!()), Action::Calendar),
                ("le {minute} $", Action::Calendar),
                (concat!("le {minute} ", day_ends!()), Action::Calendar),
                ("le {nth} $", Action::Calendar),
                ("(le)? {day} (de)? ce mois (ci)?", Action::DayOfMonth(0)),
                ("(le)? {day} courant", Action::DayOfMonth(0)),
                ("(le)? {day} (du)? mois prochain", Action::DayOfMonth(1)),
                ("(le)? {day} (du)? mois (dernier|passe)", Action::DayOfMonth(-1)),
                ("(a)? (la)? fin (du|de) mois", Action::AroundMonthEdge(-1, 0)),
                ("(le)? dernier jour (du|de ce) mois", Action::MonthEdge(-1, 0)),
                ("(la)? fin (de)? ce mois (ci)?", Action::AroundMonthEdge(-1, 0)),
                ("(la)? fin (du)? mois prochain", Action::AroundMonthEdge(-1, 1)),
                ("(le)? dernier jour du mois prochain", Action::MonthEdge(-1, 1)),
                ("(la)? fin (du)? mois (dernier|passe)", Action::AroundMonthEdge(-1, -1)),
                ("(la)? fin (de|du mois de|d)? {month} {year}?", Action::AroundMonthEdge(-1, 0)),
                ("(le)? dernier jour (de|du mois de|d) {month} {year}?", Action::MonthEdge(-1, 0)),
                ("(au|le)? debut (du)? mois prochain", Action::AroundMonthEdge(1, 1)),
                ("(le)? premier jour du mois prochain", Action::MonthEdge(1, 1)),
                ("(au|le)? debut (de|du mois de|d)? {month} {year}?", Action::AroundMonthEdge(1, 0)),
                ("(le)? premier jour (de|d|du mois de) {month} {year}?", Action::MonthEdge(1, 0)),
                ("(a)? (la)? fin (de|d) (l)? annee", Action::YearEdge(-1, 0)),
                ("(la)? fin (de)? cette annee", Action::YearEdge(-1, 0)),
                ("(a)? (la)? fin (de)? l annee prochaine", Action::YearEdge(-1, 1)),
                ("(a)? (la)? fin (de)? {year}", Action::YearEdge(-1, 0)),
                ("(au)? debut (de)? {year}", Action::AroundYearStart(0)),
                ("(le)? {ordinal} {weekday} (de|du mois de|d) {month} {year}?", Action::NthWeekday(0, 0)),
                ("(le)? {ordinal} {weekday} (de ce|du) mois", Action::NthWeekday(0, 0)),
                ("(le)? {ordinal} {weekday} du mois prochain", Action::NthWeekday(0, 1)),
                ("(le)? dernier {weekday} (de|du mois de|d) {month} {year}?", Action::NthWeekday(-1, 0)),
                ("(le)? dernier {weekday} (de ce|du) mois", Action::NthWeekday(-1, 0)),
                ("(le)? dernier {weekday} du mois prochain", Action::NthWeekday(-1, 1)),
                ("dans {duration}", Action::Shift(1)),
                ("d ici {duration}", Action::Nothing),
                ("{duration} (plus tard|plus tot|avant|apres|auparavant)", Action::Nothing),
                ("(il)? (y a|ya) {duration}", Action::Shift(-1)),
                // A stay, not the day behind it.
                ("{integer} (nuit|nuits) (a partir|a compter) (de|du|d) {date}", Action::Nothing),
                ("{duration} (a partir|a compter) (de|du|d) {date}", Action::Shift(1)),
                ("{duration} apres (le)? {date}", Action::Shift(1)),
                ("{duration} avant (le)? {date}", Action::Shift(-1)),
                ("(le)? (lendemain|jour d apres|jour suivant) (de|du) {date}", Action::ShiftBy(1, Unit::Day)),
                ("(la)? veille (de|du|d) {date}", Action::ShiftBy(-1, Unit::Day)),
                ("(le)? jour de {date}", Action::Same),
                ("(le)? (jour de)? noel {year}?", Action::Yearly(12, 25)),
                ("(la)? (veille de noel|reveillon de noel) {year}?", Action::Yearly(12, 24)),
                ("(le)? (jour de l an|nouvel an|premier de l an) {year}?", Action::Yearly(1, 1)),
                (
                    "(la)? (saint sylvestre|st sylvestre|reveillon du nouvel an|reveillon du jour de l an|veille du nouvel an) {year}?",
                    Action::Yearly(12, 31),
                ),
                ("(l)? epiphanie {year}?", Action::Yearly(1, 6)),
                ("(la)? chandeleur {year}?", Action::Yearly(2, 2)),
                ("(la)? (saint valentin|st valentin) {year}?", Action::Yearly(2, 14)),
                ("(la)? (saint patrick|st patrick) {year}?", Action::Yearly(3, 17)),
                ("(le)? jour de la terre {year}?", Action::Yearly(4, 22)),
                ("(la)? journee internationale des travailleurs {year}?", Action::Yearly(5, 1)),
                ("(la)? (saint jean|st jean) {year}?", Action::Yearly(6, 24)),
                ("(l)? assomption {year}?", Action::Yearly(8, 15)),
                ("halloween {year}?", Action::Yearly(10, 31)),
                ("(la)? toussaint {year}?", Action::Yearly(11, 1)),
                ("(la)? (saint nicolas|st nicolas) {year}?", Action::Yearly(12, 6)),
                ("(le)? mardi gras {year}?", Action::Easter(-47)),
                ("(le)? mercredi des cendres {year}?", Action::Easter(-46)),
                ("(le)? (dimanche des rameaux|rameaux) {year}?", Action::Easter(-7)),
                ("(le)? jeudi saint {year}?", Action::Easter(-3)),
                ("(le)? vendredi saint {year}?", Action::Easter(-2)),
                ("(le)? (samedi saint|samedi de paques) {year}?", Action::Easter(-1)),
                ("{weekday} (avant|apres|de) {date}", Action::Nothing),
                ("(le)? (dimanche de)? paques {year}?", Action::Easter(0)),
                ("(le)? lundi de paques {year}?", Action::Easter(1)),
                ("{number} {month}", Action::Nothing),
                ("(l|le jeudi de l|jeudi de l) ascension {year}?", Action::Easter(39)),
                ("(la)? (dimanche de)? (la)? pentecote {year}?", Action::Easter(49)),
                ("(le)? lundi de (la)? pentecote {year}?", Action::Easter(50)),
            ],
        ),
        (
            Category::Clock,
            &[
                ("midi", Action::At(12, 0)),
                ("minuit", Action::At(0, 0)),
                ("midi et (demi|demie)", Action::At(12, 30)),
                ("midi (trente|30)", Action::At(12, 30)),
                ("midi et quart", Action::At(12, 15)),
                ("midi (quinze|15)", Action::At(12, 15)),
                ("midi (quarante cinq|45)", Action::At(12, 45)),
                ("midi (dix|10)", Action::At(12, 10)),
                ("midi (vingt|20)", Action::At(12, 20)),
                ("midi moins le quart", Action::At(11, 45)),
                ("midi moins (dix|10)", Action::At(11, 50)),
                ("midi moins (cinq|5)", Action::At(11, 55)),
                ("midi moins (vingt|20)", Action::At(11, 40)),
                ("minuit et (demi|demie)", Action::At(0, 30)),
                ("minuit (trente|30)", Action::At(0, 30)),
                ("minuit et quart", Action::At(0, 15)),
                ("minuit moins le quart", Action::At(23, 45)),
                ("minuit moins (dix|10)", Action::At(23, 50)),
                ("minuit moins (cinq|5)", Action::At(23, 55)),
                ("une (heure|heures) (du matin)?", Action::At(1, 0)),
                ("une (heure|heures) (de l apres midi|de l aprem)", Action::At(13, 0)),
                ("une (heure|heures) et (demie|demi) (du matin)?", Action::At(1, 30)),
                ("une (heure|heures) et (demie|demi) (de l apres midi|de l aprem)", Action::At(13, 30)),
                ("une (heure|heures) et quart", Action::At(1, 15)),
                ("une (heure|heures) et quart (de l apres midi|de l aprem)", Action::At(13, 15)),
                ("une (heure|heures) moins le quart", Action::At(0, 45)),
                ("{hour} {part}", Action::Clock),
                ("{hour} {mm} {part}", Action::Clock),
                ("{hour} (h|heures|heure|hrs|hr) {part}?", Action::Clock),
                ("{hour} h (et)? {minute} (minutes|minute)? {part}?", Action::Clock),
                ("{hour} h {minute} (min|mn|m) {part}?", Action::Clock),
                ("{hour} h {minute} (min|mn|m) {minute} (s|sec|secondes)? {part}?", Action::Clock),
                ("{hour} (heures|heure) {minute} {part}?", Action::Clock),
                // "à 20 heures et trois pour le 13": hardly 20:03.
                ("{hour} (heures|heure) et {minute} {part}?", Action::Nothing),
                ("{hour} (heures|heure) (et)? {minute} (minutes|minute) {part}?", Action::Clock),
                ("{hour} (heures|heure) (et)? {minute} (minutes|minute) (et)? {minute} (secondes|seconde) {part}?", Action::Clock),
                ("{hour} (heures|heure|h) et quart {part}?", Action::MinutesAfter(15)),
                ("{hour} (heures|heure|h) et (demi|demie) {part}?", Action::MinutesAfter(30)),
                ("{hour} (heures|heure|h) trois quarts {part}?", Action::MinutesAfter(45)),
                ("{hour} (heures|heure|h) moins (le)? quart {part}?", Action::MinutesAfter(-15)),
                ("{hour} (heures|heure|h) moins (cinq|5) {part}?", Action::MinutesAfter(-5)),
                ("{hour} (heures|heure|h) moins (dix|10) {part}?", Action::MinutesAfter(-10)),
                ("{hour} (heures|heure|h) moins (vingt|20) {part}?", Action::MinutesAfter(-20)),
                ("{hour} (heures|heure|h) moins (vingt cinq|25) {part}?", Action::MinutesAfter(-25)),
                ("{hour} : {digits} (h|heures)? {part}?", Action::Clock),
                ("{hour} : {digits} : {digits} {part}?", Action::Clock),
                ("{hour} : {digits} (: {digits})? {part}", Action::Clock),
            ],
        ),
        (
            Category::Time,
            &[
                // Hours that are counted, and what is no number.
                ("{minute} sur {duration}", Action::Nothing),
                ("{number} {number} {number} {number}", Action::Nothing),
                ("{unit} et (demi|demie)", Action::Nothing),
                ("(0|1|2|3|4|5|6|01|02|03|04|05|06) h {minute}", Action::Nothing),
                ("{hour} (h|heures) (par|sur|/)", Action::Nothing),
                ("{minute} / {year}", Action::Nothing),
                ("^ {clock} $", Action::Same),
                (
                    "^ {clock} (svp|c est|ca|me|pile|merci|alors|s il vous plait|s il te plait|conviendrait|convient|serait|est|parfait|precises|tapantes|alors|plutot|environ|ou)",
                    Action::Same,
                ),
                (concat!(clock_context!(), " (environ)? {clock}"), Action::Same),
                (concat!(at_hour!(), " {clock}"), Action::Same),
                ("(la|a la|de la) (seance|visite|consultation|reunion|messe|navette) de {clock}", Action::Same),
                ("(pour|a pour) {hour} h {digits}", Action::Clock),
                ("(pour) {clock} (du soir|du matin|pile)", Action::Same),
                ("pour midi", Action::At(12, 0)),
                ("pour midi et (demi|demie)", Action::At(12, 30)),
                ("pour minuit", Action::At(0, 0)),
                ("pour (12) (h|heures)", Action::At(12, 0)),
                ("pour (13) (h|heures)", Action::At(13, 0)),
                ("pour (18|dix huit) (h|heures)", Action::At(18, 0)),
                ("pour (19|dix neuf) (h|heures)", Action::At(19, 0)),
                ("pour (20|vingt) (h|heures)", Action::At(20, 0)),
                ("pour (21) (h|heures)", Action::At(21, 0)),
                ("pour (22) (h|heures)", Action::At(22, 0)),
                ("13 h", Action::At(13, 0)),
                ("14 h", Action::At(14, 0)),
                ("15 h", Action::At(15, 0)),
                ("16 h", Action::At(16, 0)),
                ("17 h", Action::At(17, 0)),
                ("18 h", Action::At(18, 0)),
                ("19 h", Action::At(19, 0)),
                ("20 h", Action::At(20, 0)),
                ("21 h", Action::At(21, 0)),
                ("22 h", Action::At(22, 0)),
                ("23 h", Action::At(23, 0)),
                ("midi|ce midi|minuit", Action::Nothing),
                ("{hour} h {minute}", Action::Clock),
                ("{hour} h {minute} (min|mn|m)", Action::Clock),
                ("{hour} h {minute} (min|mn|m) {minute} (s|sec)", Action::Clock),
                ("{hour} h {minute} s $", Action::Nothing),
                ("{hour} h {minute}? {part}", Action::Clock),
                ("{hour} (heures|heure) (et)? {minute}? (minutes|minute)? {part}", Action::Clock),
                ("{hour} (heures|heure|h) et (demi|demie) {part}", Action::MinutesAfter(30)),
                ("{hour} (heures|heure|h) et quart {part}?", Action::MinutesAfter(15)),
                ("{hour} (heures|heure|h) moins (le)? quart {part}?", Action::MinutesAfter(-15)),
                ("{hour} (heures|heure|h) moins (cinq|5) {part}?", Action::MinutesAfter(-5)),
                ("{hour} (heures|heure|h) moins (dix|10) {part}?", Action::MinutesAfter(-10)),
                ("{hour} (heures|heure|h) moins (vingt|20) {part}?", Action::MinutesAfter(-20)),
                ("{hour} (heures|heure|h) moins (vingt cinq|25) {part}?", Action::MinutesAfter(-25)),
                ("{hour} heures (pile|precises|tapantes)", Action::Clock),
                ("{hour} et (demie|demi) {part}", Action::MinutesAfter(30)),
                ("{hour} et quart {part}", Action::MinutesAfter(15)),
                ("(c est|il est) {hour} et (demie|demi)", Action::MinutesAfter(30)),
                ("(c est|il est) {hour} et quart", Action::MinutesAfter(15)),
                ("(c est|il est) {hour} et trois quarts", Action::MinutesAfter(45)),
                (concat!(hour_context!(), " {hour} dix {part}?"), Action::MinutesAfter(10)),
                (concat!(hour_context!(), " {hour} quinze {part}?"), Action::MinutesAfter(15)),
                (concat!(hour_context!(), " {hour} vingt {part}?"), Action::MinutesAfter(20)),
                (concat!(hour_context!(), " {hour} trente {part}?"), Action::MinutesAfter(30)),
                (concat!(hour_context!(), " {hour} quarante {part}?"), Action::MinutesAfter(40)),
                (concat!(hour_context!(), " {hour} (quarante cinq) {part}?"), Action::MinutesAfter(45)),
                (concat!(hour_context!(), " {hour} cinquante {part}?"), Action::MinutesAfter(50)),
                (concat!(hour_context!(), " {hour} dix ", in_morning!()), Action::MinutesAfter(10)),
                (concat!(hour_context!(), " {hour} quinze ", in_morning!()), Action::MinutesAfter(15)),
                (concat!(hour_context!(), " {hour} vingt ", in_morning!()), Action::MinutesAfter(20)),
                (concat!(hour_context!(), " {hour} trente ", in_morning!()), Action::MinutesAfter(30)),
                (concat!(hour_context!(), " {hour} quarante ", in_morning!()), Action::MinutesAfter(40)),
                (concat!(hour_context!(), " {hour} (quarante cinq) ", in_morning!()), Action::MinutesAfter(45)),
                (concat!(hour_context!(), " {hour} cinquante ", in_morning!()), Action::MinutesAfter(50)),
                (
                    concat!(hour_context!(), " {hour} {minute} (dans la nuit|dans la soiree|dans l apres midi|le soir|ce soir)"),
                    Action::Nothing,
                ),
                (concat!(comes!(), " (a|vers|peu pres|a peu pres|vers les) {hour} $"), Action::Clock),
                (concat!(comes!(), " {hour} (h|heures|heure) (et)? {minute} $"), Action::Clock),
                (concat!(comes!(), " (dans)? (l)? apres midi (a|vers)? {hour} $"), Action::TimeIn(Part::Afternoon)),
                (concat!("(c est|il est|a|vers) {hour} ", in_morning!()), Action::TimeIn(Part::Morning)),
                (concat!("(c est|il est|a|vers) {hour} ", in_evening!()), Action::TimeIn(Part::Evening)),
                ("(a|vers|c est|il est) {clock} dans la nuit", Action::TimeIn(Part::Night)),
                ("{hour} : {digits} dans la nuit", Action::TimeIn(Part::Night)),
                ("{hhmm} (am|a m)", Action::TimeIn(Part::Am)),
                ("{hhmm} (pm|p m)", Action::TimeIn(Part::Pm)),
                ("(a|vers) {hour} (et quart|et demie|et demi|et trois quarts) (dans l|l|cet)? apres midi", Action::Nothing),
                ("(c est|il est) {hour} (et quart|et demie|et demi|et trois quarts) cet apres midi", Action::Nothing),
                ("{time} (dans l|l|d)? apres midi $", Action::TimeIn(Part::Afternoon)),
                ("{hour} {part} et quart", Action::MinutesAfter(15)),
                ("{hour} {part} et (demie|demi)", Action::MinutesAfter(30)),
                ("{hour} {part} et trois quarts", Action::MinutesAfter(45)),
                (
                    "^ (en|au|a la)? (milieu de journee|milieu de la journee|milieu du jour|milieu de jour|mi journee|milieu du midi|milieu de midi) $",
                    Action::At(12, 0),
                ),
                (
                    "^ (en|au|a la)? (milieu de matinee|milieu de la matinee|milieu du matin|milieu de matin|mi matinee) $",
                    Action::At(10, 0),
                ),
                ("{hour} {mm} {part}", Action::Clock),
                ("{clock} (,)? (dans la matinee|le matin|au matin)", Action::TimeIn(Part::Morning)),
                ("{clock} (,)? (dans l apres midi|l apres midi)", Action::TimeIn(Part::Afternoon)),
                ("{clock} (,)? (dans la soiree|en soiree|le soir|au soir)", Action::TimeIn(Part::Evening)),
                ("(le|au) matin (a|vers)? {clock}", Action::TimeIn(Part::Morning)),
                ("apres midi (a|vers)? {clock}", Action::TimeIn(Part::Afternoon)),
                ("(dans)? l apres midi (a|vers)? {clock}", Action::TimeIn(Part::Afternoon)),
                ("(le soir|dans la soiree|en soiree) (a|vers)? {clock}", Action::TimeIn(Part::Evening)),
            ],
        ),
        (
            Category::DateTime,
            &[
                // The midnight of which day?
                ("{date} (,)? (a|vers)? minuit", Action::Nothing),
                ("cette nuit (a|vers|,)? {clock}", Action::Nothing),
                ("le {minute} pour {clock}", Action::Nothing),
                ("{weekday} (suivant|precedent|d apres) (a|vers)? {clock}", Action::Nothing),
                ("{date} (,)? (a|vers|des)? {clock}", Action::Join),
                ("{date} (,)? (au|dans la|le)? (matin|matinee) (,)? (a|vers|des)? {clock}", Action::JoinPart(Part::Morning)),
                ("{date} (,)? (dans l)? (apres midi|aprem) (,)? (a|vers|des)? {clock}", Action::JoinPart(Part::Afternoon)),
                ("{date} (,)? (au|dans la|en|le)? (soir|soiree) (,)? (a|vers|des)? {clock}", Action::JoinPart(Part::Evening)),
                ("(a|vers|des) {clock} (,)? (du|le|sur)? {date}", Action::Join),
                ("{time} (,)? (du|le|sur)? {date}", Action::Join),
                ("{time} (,)? sur {date} (dans l|l|d)? apres midi", Action::JoinPart(Part::Afternoon)),
                (concat!(comes!(), " (a|vers)? {time} (,)? sur (le|la) {day} $"), Action::Join),
                ("{date} pour {time}", Action::Join),
                ("{month} {day} (,)? (a)? {time}", Action::Join),
                ("fin (de|d) (cette|ce)? {date} $", Action::EndOfDay),
                ("la fin (de|d)? (cette|ce)? {date} $", Action::EndOfDay),
                ("(la)? fin de la journee (de|du|d)? {date} $", Action::EndOfDay),
                ("{day} {month} {short} (,)? (a)? {time}", Action::Nothing),
                ("(j arrive|j arriverai|je reviendrai|je retournerai|je rentrerai) {hour} h {minute}? (,)? (le|du) {date}", Action::Join),
                (concat!(comes!(), " (a|vers)? {hour} (,)? ce soir"), Action::JoinDays(0, Some(Part::Evening))),
                (concat!(comes!(), " (a|vers)? {hour} (,)? ce matin"), Action::JoinDays(0, Some(Part::Morning))),
                (concat!(comes!(), " ce soir (a|vers) {hour} $"), Action::JoinDays(0, Some(Part::Evening))),
                (concat!("(a)? {hour} ", in_evening!(), " (,)? (le)? {date}"), Action::JoinPart(Part::Evening)),
                (concat!("(a)? {hour} ", in_morning!(), " (,)? (le)? {date}"), Action::JoinPart(Part::Morning)),
                ("{date} du matin (a|vers) {hour} $", Action::JoinPart(Part::Morning)),
                ("^ {clock} (,)? (du|le)? {date}", Action::Join),
                ("(a|vers) {clock} (,)? (le)? {date} (au)? matin", Action::JoinPart(Part::Morning)),
                ("(a|vers) {clock} (,)? (le)? {date} (apres midi|aprem)", Action::JoinPart(Part::Afternoon)),
                ("(a|vers) {clock} (,)? (le)? {date} (au)? soir", Action::JoinPart(Part::Evening)),
                ("{date} (au)? (matin) (a|vers) {hour} $", Action::JoinPart(Part::Morning)),
                ("{date} (apres midi|aprem) vers {hour} $", Action::JoinPart(Part::Afternoon)),
                ("{date} (soir|au soir) vers {hour} $", Action::JoinPart(Part::Evening)),
                ("(ce soir|cette soiree) (,)? (a|vers|pour|des)? {time}", Action::JoinDays(0, Some(Part::Evening))),
                ("^ {clock} (,)? (le)? {date} (au)? matin", Action::JoinPart(Part::Morning)),
                ("^ {clock} (,)? (le)? {date} (apres midi|aprem)", Action::JoinPart(Part::Afternoon)),
                ("^ {clock} (,)? (le)? {date} (au)? soir", Action::JoinPart(Part::Evening)),
                ("(ce|cette) matin (a|vers) {hour} $", Action::JoinDays(0, Some(Part::Morning))),
                ("(ce|cette) matin (a|vers) {hour} {part}", Action::JoinDays(0, Some(Part::Morning))),
                ("cet (apres midi|aprem) (a|vers) {hour} $", Action::JoinDays(0, Some(Part::Afternoon))),
                ("ce soir vers {hour} $", Action::JoinDays(0, Some(Part::Evening))),
                ("ce matin (,)? (a|vers|pour|des)? {time}", Action::JoinDays(0, Some(Part::Morning))),
                ("cet (apres midi|aprem) (,)? (a|vers|pour|des)? {time}", Action::JoinDays(0, Some(Part::Afternoon))),
                ("{time} (,)? ce soir", Action::JoinDays(0, Some(Part::Evening))),
                ("{time} (,)? ce matin", Action::JoinDays(0, Some(Part::Morning))),
                ("{time} (,)? cet (apres midi|aprem)", Action::JoinDays(0, Some(Part::Afternoon))),
                ("{hour} (heures|h) ce soir", Action::Nothing),
                ("maintenant $|tout de suite $|immediatement $|des maintenant|a l instant|en ce moment meme|a cet instant", Action::Now),
                ("dans {number} (h|heures|heure) {minute}", Action::Nothing),
                ("dans {span}", Action::ShiftNow(1)),
                ("dans {duration}", Action::ShiftNow(1)),
                ("d ici {duration}", Action::Nothing),
                ("(il)? (y a|ya) {number} (h|heures|heure) {minute}", Action::Nothing),
                ("(il)? (y a|ya) {span}", Action::ShiftNow(-1)),
                ("(il)? (y a|ya) {duration}", Action::ShiftNow(-1)),
            ],
        ),
        (
            Category::DateRange,
            &[
                ("(en|au mois de|au mois d|dans le mois de)? {month} (de|,|de l an|de l annee|l annee)? {year}", Action::MonthPeriod),
                ("(en)? {year} (,)? (en|au mois de|au mois d) {month}", Action::MonthPeriod),
                ("en {month} {short}", Action::Nothing),
                ("dans {span} et (demi|demie|quart|un quart)", Action::Nothing),
                ("(de|du)? {date} (a|au|jusqu au|jusqu a) {date}", Action::FromTo),
                ("entre (le)? {date} et {date}", Action::FromTo),
                ("(du|de) {day} (au|a|jusqu au|-) {day} {month} {year}?", Action::DaysOfMonth),
                ("{day} (au|-) {day} {month} {year}?", Action::DaysOfMonth),
                ("entre (le)? {day} et (le)? {day} {month} {year}?", Action::DaysOfMonth),
                ("du {wd} {day} au {wd} {day} {month} {year}?", Action::DaysOfMonth),
                ("entre (le)? {wd} {day} et (le)? {wd} {day} {month} {year}?", Action::DaysOfMonth),
                ("(du|de) {minute} (au|a) {minute}", Action::Nothing),
                ("(le|les) {minute} (et|ou|,) (le)? {day} {month}", Action::Nothing),
                ("(le)? {wd} {minute} (et|ou) (le)? {wd} {day} {month}", Action::Nothing),
                ("(le|les) {minute} , {minute} (et|ou) {day} {month}", Action::Nothing),
                ("(en)? {month} (dernier|passe)", Action::Nothing),
                ("(du|entre) (le)? {wd} {minute} (au|et) {date}", Action::Nothing),
                ("entre (le)? {minute} et (le)? {minute}", Action::Nothing),
                ("(le)? {weekday} ou (le)? {weekday}", Action::Nothing),
                ("{date} ou (le)? {date}", Action::Nothing),
                ("{date} ou (le)? {minute}", Action::Nothing),
                ("a (partir|compter) (de|du|d) (le)? {date}", Action::From),
                ("a (partir|compter) (de|du|d) {day} {month}", Action::Nothing),
                // The one that is gone is meant.
                ("depuis (le)? {weekday}", Action::Nothing),
                ("depuis (le)? {day} {month}", Action::Nothing),
                ("depuis (le)? {wd} {day} {month}", Action::Nothing),
                ("depuis le {minute}", Action::Nothing),
                ("depuis {month}", Action::Nothing),
                ("(des|depuis|apres|pas avant) (le)? {date}", Action::From),
                (
                    "(avant|jusqu au|jusqu a|jusque|d ici|d ici au|d ici le|pas apres|pas plus tard que|au plus tard|au plus tard le) {date}",
                    Action::Until,
                ),
                ("{date} au plus tard", Action::Until),
                ("{date} (ou apres|ou avant)", Action::Nothing),
                ("{date} et apres $", Action::Nothing),
                ("avant la fin (de|du|d) (la|l|mois|{month}|semaine|annee)", Action::Nothing),
                ("(la semaine prochaine|semaine prochaine)", Action::Period(1, Unit::Week)),
                ("cette semaine", Action::Period(0, Unit::Week)),
                ("la semaine (derniere|passee)", Action::Period(-1, Unit::Week)),
                ("(ce|cette) (week end|weekend|wk|we)", Action::Period(0, Unit::Weekend)),
                ("(le)? (week end|weekend) prochain", Action::Period(1, Unit::Weekend)),
                ("(le)? (week end|weekend) (dernier|passe)", Action::Period(-1, Unit::Weekend)),
                ("ce mois (ci)?", Action::Period(0, Unit::Month)),
                ("le mois prochain", Action::Period(1, Unit::Month)),
                ("le mois (dernier|passe)", Action::Period(-1, Unit::Month)),
                ("cette annee", Action::Period(0, Unit::Year)),
                ("(l annee prochaine|l an prochain)", Action::Period(1, Unit::Year)),
                ("(l annee derniere|l an dernier|l annee passee|l an passe)", Action::Period(-1, Unit::Year)),
                ("{month} {year}", Action::MonthPeriod),
                ("(en|au mois de|au mois d|courant|dans le mois de) {month} {year}?", Action::MonthPeriod),
                ("en {year}", Action::YearPeriod),
                // Of two periods none is meant alone.
                (
                    "({range}|{month}|en {month}|au mois de {month}|au mois d {month}) (,)? (ou|ou bien|ou alors|et|&|/|,) (,)? (peut etre|eventuellement|meme|plutot|aussi)? (en|le|la|a|au|dans|pour|celle|debut)? (en|le|la|a|au|dans|pour|celle|debut)? ({range}|{month}) {year}?",
                    Action::Several,
                ),
                (
                    "{month} , {month} (,)? (ou|ou bien|ou alors|et|&) (en|le|la|a|au|dans|pour|celle|debut)? {month} {year}?",
                    Action::Several,
                ),
                (
                    "({range}|{date}|{datetime}) (,)? (ou|ou bien|ou alors) (,)? (peut etre|eventuellement|meme|plutot|aussi)? (en|le|la|a|au|dans|pour|celle|debut)? ({range}|{date}|{datetime}|{year}|en {month}|au mois de {month}|au mois d {month}|{wd})",
                    Action::Several,
                ),
                ("{date} (,)? (et|&) (en|le|la|a|au|dans|pour|celle|debut)? {date}", Action::Several),
                (
                    "{date} , (en|le|la|a|au|dans|pour|celle|debut)? {date} (,)? (ou|ou bien|ou alors|et|&) (en|le|la|a|au|dans|pour|celle|debut)? ({date}|{wd})",
                    Action::Several,
                ),
                ("(en) {year} (ou|ou bien|ou alors|et|&|a|au|a la|jusqu a|jusqu en|jusqu au|-|/|,) (en)? {year}", Action::Nothing),
                ("({range}|{month}|{month} {year}) - ({range}|{month}) {year}?", Action::Nothing),
                ("{month} ({range}|{month})", Action::Nothing),
                (
                    "({range}|{month}|{date}|en {month}|au mois de {month}|au mois d {month}) (,)? (a|au|a la|jusqu a|jusqu en|jusqu au|non|pardon|plutot|enfin) (,)? ({range}|{month}|en {month}|au mois de {month}|au mois d {month}) {year}?",
                    Action::Nothing,
                ),
                (
                    "({range}|{datetime}) (,)? (a|au|a la|jusqu a|jusqu en|jusqu au|non|pardon|plutot|enfin) (,)? ({date}|{datetime}|{year})",
                    Action::Nothing,
                ),
                // A part of a period, or what has its name.
                (
                    "(cette semaine|ce week end|ce weekend|ce mois|cette annee) (ou|et) (la|le|l)? (prochaine|prochain|suivante|suivant|autre)",
                    Action::Several,
                ),
                ("{range} (,)? (du|de)? {wd} (a|au|-) {wd}", Action::Nothing),
                ("{range} (,)? ({range}|en {month}|au mois de {month})", Action::Nothing),
                ("(chaque|tous les|toutes les) ({unit}|{wd}|ans) (,)? {range}", Action::Nothing),
                (
                    "(la|le|les)? ({ordinal}|premiere|derniere|dernier|deuxieme|seconde|second|premier|premieres|derniers|dernieres) ({number})? (semaine|semaines|week end|weekend|jour|jours|moitie|quinzaine) (de|du|d|en) (le|la|l)? ({range}|{month}|mois) {year}?",
                    Action::Nothing,
                ),
                ("(le|ce)? (week end|weekend) (du|de|apres|avant|autour du) {date}", Action::Nothing),
                (
                    "(facture|budget|numero|menu|menus|bulletin|rapport|catalogue|magazine|planning|calendrier|edition|commande|loyer|modele|programme) (de|du|d|pour)? (le|la)? ({range}|{month} {year}|mois dernier|mois prochain)",
                    Action::Nothing,
                ),
                ("{range} (,)? (au|en|a l|cet|le)? (printemps|ete|automne|hiver|trimestre)", Action::Nothing),
                ("(printemps|ete|automne|hiver|trimestre) (de|du|d)? {range}", Action::Nothing),
                ("(mois de|mois d|de|d)? {month} {year}? (a|au|jusqu au|et) (mois de|mois d)? {month} {year}?", Action::Nothing),
                ("(l annee prochaine|l an prochain|l annee derniere|l an dernier) (,)? (a|le|au|pour|vers)? {date}", Action::Nothing),
            ],
        ),
        (
            Category::TimeRange,
            &[
                ("(cet|l|en|d|un|une|cette)? apres midi", Action::Nothing),
                ("(du|le|tous les|menu|pause|entre) midi", Action::Nothing),
                ("entre midi et (deux|2|quatorze heures)", Action::Nothing),
                ("d ici (1|2|3|4|5|6|une|deux|trois|quatre|cinq|six) (h|heure|heures)", Action::Nothing),
                ("(dans|il y a) (de)? {clock}", Action::Nothing),
                ("{time} (ou|ou a|ou vers) {clock}", Action::Nothing),
                ("aussi tard que {clock}", Action::Nothing),
                ("a une heure (de|d|pres)", Action::Nothing),
                ("{hour} ou {clock}", Action::Nothing),
                ("a {hour} (heures|h) (de|d) (vol|route|voiture|train|marche|avion|bateau|ici|paris|lyon)", Action::Nothing),
                ("(de|entre|du) {clock} (a|et|jusqu a) {clock} {part}", Action::Nothing),
                ("(de|entre|du) {hour} (h|heures)? (a|et) {hour} (h|heures) {part}", Action::Nothing),
                ("(de|entre) {clock} (a|et|jusqu a) {clock}", Action::FromTo),
                ("(de)? {clock} (-|a|au|jusqu a) {clock}", Action::FromTo),
                ("(de|entre) {hour} (a|et|-) {clock}", Action::FromTo),
                ("{hour} - {clock}", Action::Nothing),
                ("(table|groupe|chambre) de {hour} a {clock}", Action::Nothing),
                ("{hour} a {hour} {part}", Action::Nothing),
                // Numbers that may be read in two ways.
                (
                    "(vingt|trente|quarante|cinquante|soixante) et un (cinquieme|sixieme|septieme|huitieme|neuvieme|dixieme|centieme|millieme)",
                    Action::Nothing,
                ),
                (
                    "(deux|trois|quatre|cinq|six|sept|huit|neuf) (cent|cents) (une|deux|trois|quatre|cinq|six|sept|huit|neuf) (douzaine|douzaines)",
                    Action::Nothing,
                ),
                (
                    "(d)? (un|deux|trois|quatre|cinq|six|sept|huit|neuf|dix) (milliard|milliards|million|millions) et demi (million|millions|mille)",
                    Action::Nothing,
                ),
                ("un cent et {number}", Action::Nothing),
                // Amounts between two.
                ("{number} ou {number}", Action::Nothing),
                ("{number} (€|euros|dollars|francs)? ou {number}", Action::Nothing),
                ("entre {number} (€|euros|dollars|francs)? (et|a) {number}", Action::Nothing),
                ("de {number} (€|euros|dollars|francs)? a {number}", Action::Nothing),
                ("de {integer} (€|euros|dollars|francs)? et {integer} $", Action::Nothing),
                ("de {number} (€|euros|dollars|francs)? et {number} (€|euros|dollars|francs)", Action::Nothing),
                ("(entre|de) {number} (%|pour cent) (et|a) {number} (%|pour cent)", Action::Nothing),
                ("{number} (fois|x) {number}", Action::Nothing),
                (
                    "{number} (a|-) {number} (=personnes|=invites|=convives|=adultes|=couverts|=enfants|=places|=pieces|=kilos|=kg|=euros|=€|=nuits|=semaines|=jours|=mois|=ans|=minutes)",
                    Action::Nothing,
                ),
                ("(apres|a partir de|a compter de|des|depuis|pas avant) (environ)? {clock}", Action::From),
                ("(avant|jusqu a|jusque|pas apres|pas plus tard que|au plus tard a|d ici) {clock}", Action::Until),
                ("(a)? {clock} au plus tard", Action::Until),
                ("(a)? {clock} (ou plus tard|ou plus tot|ou apres|ou avant|au plus tot)", Action::Nothing),
                (
                    "(de|entre)? {hour} (h|heures)? (a|au|a la|jusqu a|jusqu en|jusqu au|-) {hour} (h|heures)? (,)? (ou|ou bien|ou alors|et|&|,) (de|entre)? {timerange}",
                    Action::Several,
                ),
                (
                    "{timerange} (,)? (ou|ou bien|ou alors|et|&|,) (peut etre|eventuellement|meme|plutot|aussi)? (en|le|la|a|au|dans|pour|celle|debut)? ({timerange}|{date}|{date} {timerange}|{wd} {timerange})",
                    Action::Several,
                ),
            ],
        ),
        (
            Category::DateTimeRange,
            &[
                // Hours that last. They are durations, so they stand with no rival of these.
                ("(il|elle|on|tout|ca|qui|client) a {clock}", Action::Nothing),
                (
                    "(pendant|durant|dure|durera|duree|prend|prendra|faut|encore|sous|attends|attendu|attendre|ai|as|avons|avez|ont|fait|reste|toutes les|chaque) (de)? {clock}",
                    Action::Nothing,
                ),
                (concat!("{hour} (h|heures) (de|d) ", hour_nouns!()), Action::Nothing),
                ("^ (24|vingt quatre) (h|heures) $", Action::Nothing),
                ("(de|du)? {datetime} (a|au|jusqu a|jusqu au) {datetime}", Action::FromTo),
                ("(de|du)? {datetime} (a|jusqu a) {clock}", Action::FromTo),
                ("entre {datetime} et {datetime}", Action::FromTo),
                ("entre {datetime} et {clock}", Action::FromTo),
                ("(apres|a partir de|a partir du|des|depuis|pas avant) (le)? {datetime}", Action::From),
                ("(avant|jusqu a|jusqu au|d ici|d ici le|pas plus tard que|au plus tard|pas apres) {datetime}", Action::Until),
                ("{datetime} au plus tard", Action::Until),
                ("{datetime} (ou plus tard|ou plus tot|ou a|ou)", Action::Nothing),
                ("{date} ou {datetime}", Action::Nothing),
                ("{datetime} ou {datetime}", Action::Nothing),
                ("{date} (,)? {timerange}", Action::Nothing),
                (concat!("{date} (,)? {hour} (h|heures) (de|d) ", hour_nouns!()), Action::Nothing),
                ("{timerange} (,)? (le)? {date}", Action::Nothing),
                ("(de|entre) {hour} (a|et) {datetime}", Action::Nothing),
                (
                    "{datetimerange} (,)? (ou|ou bien|ou alors|et|&|,) (peut etre|eventuellement|meme|plutot|aussi)? (en|le|la|a|au|dans|pour|celle|debut)? ({datetimerange}|{timerange}|{datetime}|{date})",
                    Action::Several,
                ),
                (
                    "{datetime} (,)? (ou|ou bien|ou alors) (peut etre|eventuellement|meme|plutot|aussi)? (en|le|la|a|au|dans|pour|celle|debut)? ({datetime}|{time}|{date}|{hour})",
                    Action::Several,
                ),
                ("{datetime} (,)? (et|&) (en|le|la|a|au|dans|pour|celle|debut)? {datetime}", Action::Several),
            ],
        ),
        (
            Category::ValueRange,
            &[
                (
                    "(de|d) {value} a {value}",
                    Action::NothingIf(
                        "passe|passer|passee|augmente|augmenter|change|changer|baisse|baisser|monte|monter|modifie|modifier|reduit|reduire",
                    ),
                ),
                (
                    "{value} a {value}",
                    Action::NothingIf(
                        "envoie|envoyer|envoyez|vire|virer|transfere|transferer|ajoute|ajouter|multiplie|numero|gagne|perdu|battu|score|match|resultat",
                    ),
                ),
                ("(de|d)? {value} (a|jusqu a) {value}", Action::FromTo),
                ("de {value} - {value}", Action::FromTo),
                ("entre {value} (et|a|-) {value}", Action::FromTo),
                ("entre {value} et {value} et {value}", Action::Nothing),
                ("(plus|moins) de la moitie", Action::Nothing),
                ("(plus|moins) d (un|une) ({unit}|fois)", Action::Nothing),
                ("(au moins|au minimum|minimum|un minimum de|minimum de|pas moins de|pas moins d) {value}", Action::From),
                ("(plus de|plus d|superieur a|superieure a|superieurs a|superieures a|au dessus de|au dela de) {value}", Action::From),
                ("{value} (ou plus|et plus|minimum|au minimum|au moins|et au dela|ou davantage)", Action::From),
                ("(a partir de|des) {money}", Action::From),
                (
                    "a partir de {value} (=personnes|=gens|=invites|=adultes|=enfants|=participants|=employes|=salaries|=utilisateurs|=places|=chaises|=tables|=chambres|=billets|=tickets|=pieces|=unites|=exemplaires|=copies|=cartons|=boites|=bouteilles|=pages|=mots|=fois|=kg|=kilos|=grammes|=km|=kilometres|=metres|=litres|=cm|=mm|=go|=mo|=voitures|=joueurs|=membres|=commandes|=eleves|=convives)",
                    Action::From,
                ),
                (
                    "(au plus|tout au plus|au maximum|maximum|maximum de|un maximum de|max|jusqu a|pas plus de|pas plus d|pas au dessus de) {value}",
                    Action::Until,
                ),
                (
                    "(moins de|moins d|inferieur a|inferieure a|inferieurs a|inferieures a|en dessous de|au dessous de) {value}",
                    Action::Until,
                ),
                ("{value} (ou moins|et moins|maximum|au maximum|max|au plus|tout au plus|grand maximum)", Action::Until),
                ("{valuerange} (,)? (et|mais) {valuerange}", Action::FromTo),
                ("{valuerange} (,)? ou {valuerange}", Action::Nothing),
            ],
        ),
        (Category::AmountRange, &[("{number} sur {number} (pour cent|pourcent|%)", Action::Nothing)]),
        (
            Category::Repetition,
            &[
                (concat!("(tous les|toutes les|les|un|deux|trois) ", weekdays!()), Action::Nothing),
                (weekdays!(), Action::Nothing),
                ("(tous|toutes) les {duration}", Action::Nothing),
                ("(tous|toutes) les {unit}", Action::Nothing),
                ("(tous|toutes) les {date}", Action::Nothing),
                ("(tous|toutes) les (matins|soirs|midis|apres midi) (a)? {clock}?", Action::Nothing),
                ("(tous|toutes) les {day} (du|de chaque|de) mois", Action::Nothing),
                ("chaque (mois|semaine)? (le)? {date}", Action::Nothing),
                ("chaque (matin|soir|midi|jour) (a)? {clock}?", Action::Nothing),
                ("chaque {unit}", Action::Nothing),
                ("(a|de)? {clock} (,)? (chaque|tous les|toutes les) ({weekday}|{unit}|matins|soirs|matin|soir|midis)", Action::Nothing),
                (concat!("(a|de)? {clock} (,)? (tous les|les) ", weekdays!()), Action::Nothing),
                ("(chaque|tous les|toutes les) ({weekday}|{unit}|matins|soirs|matin|soir|midis) (a|vers|de|des) {clock}", Action::Nothing),
                (concat!("(tous les|les) ", weekdays!(), " (a|vers|de|des) {clock}"), Action::Nothing),
                ("chaque {day} du mois", Action::Nothing),
                ("(le)? {day} (de chaque|chaque|du) mois", Action::Nothing),
                ("{date} (de chaque mois|de chaque annee|chaque annee|chaque mois|chaque semaine)", Action::Nothing),
                ("(le|un) {weekday} sur (deux|trois|quatre|2|3|4)", Action::Nothing),
                ("le {weekday} (et|ou) le {weekday}", Action::Nothing),
                ("(ferme|fermes|fermee|ouvert|ouverts|ouverte) le {weekday}", Action::Nothing),
                (concat!(weekdays!(), " (matin|matins|midi|midis|soir|soirs) (a|vers|de|des)? {clock}?"), Action::Nothing),
                ("{duration} par {unit}", Action::Nothing),
                ("{number} (fois)? par {unit}", Action::Nothing),
                (
                    "quotidien|quotidienne|quotidiennement|hebdomadaire|mensuel|mensuelle|mensuellement|annuel|annuelle|annuellement",
                    Action::Nothing,
                ),
                // One of two times, each of them from one to another.
                (
                    "({datetimerange}|{timerange}|{date} {timerange}) (,)? (ou|ou bien|ou alors) (en|le|la|a|au|dans|pour|celle|debut)? ({datetimerange}|{date} {timerange}|{date}|{wd} {timerange}|{wd})",
                    Action::Several,
                ),
            ],
        ),
    ],
    currencies: &[
        ("euro|euros|d euro|d euros|de €", "EUR"),
        ("dollar|dollars|de dollars|de dollar|de $", "$"),
        ("dollar americain|dollars americains|de dollars americains|dollar us|dollars us|de dollars us", "USD"),
        ("$ hk|de $ hk", "HKD"),
        ("$ us|de $ us", "USD"),
        ("$ cad|de $ cad|$ can", "CAD"),
        ("dollar canadien|dollars canadiens|de dollars canadiens", "CAD"),
        ("dollar australien|dollars australiens|d dollars australiens", "AUD"),
        ("dollar neo zelandais|dollars neo zelandais", "NZD"),
        ("dollar de hong kong|dollars de hong kong", "HKD"),
        ("dollar de singapour|dollars de singapour", "SGD"),
        ("~livre|~livres|de ~livres|livre sterling|livres sterling|de livres sterling|de £", "GBP"),
        ("~de livres", "GBP"),
        ("livre turque|livres turques", "TRY"),
        ("livre egyptienne|livres egyptiennes", "EGP"),
        ("livre libanaise|livres libanaises", "LBP"),
        ("franc suisse|francs suisses|de francs suisses|franc|francs|de francs", "CHF"),
        ("~fr|~frs", "CHF"),
        ("franc cfa|francs cfa|de francs cfa|fcfa", "XOF"),
        ("yen|yens|de yens", "JPY"),
        ("yuan|yuans|de yuans|renminbi", "CNY"),
        ("roupie|roupies|de roupies|roupie indienne|roupies indiennes", "INR"),
        ("rouble|roubles|de roubles", "RUB"),
        ("dirham marocain|dirhams marocains", "MAD"),
        ("dinar tunisien|dinars tunisiens", "TND"),
        ("dinar algerien|dinars algeriens", "DZD"),
        ("couronne suedoise|couronnes suedoises", "SEK"),
        ("couronne norvegienne|couronnes norvegiennes", "NOK"),
        ("couronne danoise|couronnes danoises", "DKK"),
        ("couronne tcheque|couronnes tcheques", "CZK"),
        ("zloty|zlotys", "PLN"),
        ("real bresilien|reals bresiliens|reais", "BRL"),
        ("peso mexicain|pesos mexicains", "MXN"),
        ("~won|~wons|wons coreens", "KRW"),
        ("~rand|~rands|rands sud africains", "ZAR"),
    ],
    cents: &[("centime|centimes|cent|cents|eurocents", "EUR CHF USD CAD"), ("pence|penny", "GBP")],
    lead_ins: "le|la|a|vers",
    joined_words: &[],
    range_words: RangeWords {
        counted: "personnes|gens|invites|adultes|enfants|participants|employes|salaries|utilisateurs|places|chaises|tables|chambres|billets|tickets|pieces|unites|exemplaires|copies|cartons|boites|bouteilles|pages|mots|fois|kg|kilos|grammes|km|kilometres|metres|litres|cm|mm|go|mo|voitures|joueurs|membres|commandes|eleves|convives",
        denials: "ne|n|pas|jamais|ni|sans|aucun|aucune|sauf|excepte|guere",
        but: "mais",
        hours: "travaille|travaillons|ouvert|ouverte|libre|rdv|reunion|disponible|dispo|horaire|horaires|ferme|voit|voyons|dejeuner",
        questions: "est ce que c est|est ce plus|est ce moins|est ce entre|est ce que ca|est il|c est bien|pourquoi|combien|quand|qui|ou est|qu est ce|que se passe|dois je|faut il",
    },
    negations: "ne peux|ne peut|ne pouvons|ne veux|ne voulons|ne pourrai|ne viens|ne viendrai|ne suis|ne serai|ne sera|n est|n etait|ne convient|ne me|ne nous|jamais|pas possible|impossible",
    mock_negations: "n est ce pas|n est il pas|ne pourrait on pas",
    vetoes: &[
        Veto {
            kinds: &[Kind::NumberRange, Kind::CurrencyRange],
            before: "pas|sauf|excepte|echelle de|echelle|page|pages|chapitre|chapitres|ligne|lignes|chambre|salle|niveau|niveaux|numero|numeros|saison|version|question|questions|gagne|perdu|score de|score|note|notes|bus",
            behind: "heures|heure|h|etoiles|points|echelle|partout|contre|ans|du matin|du soir",
        },
        Veto { kinds: &[Kind::NumberRange], before: "ouvert|ouverte|travaille", behind: "" },
        Veto {
            kinds: &[Kind::Date, Kind::DateTime, Kind::Time],
            before: "pas|pas le|pas ce|pas pour|pas a|pas pour le|pas vers|sauf|sauf le|sauf a|excepte|excepte le|hormis|hormis le|jamais|jamais le|ni|ni le|\
                     a part|a part le|et non|et non le|surtout pas|mais pas|au lieu de|au lieu du|plutot que|plutot que le|en dehors de|plus le",
            behind: "ne me convient pas|ne convient pas|ne me va pas|ne va pas|n est pas possible|ce n est pas possible|\
                     c est pas possible|ca ne va pas|ca va pas|je ne peux pas|je peux pas|ne m arrange pas|non plus|impossible|\
                     est impossible|c est impossible|est exclu|pas possible|est complet|c est complet|je travaille|\
                     je ne suis pas disponible|je ne suis pas libre|je ne suis pas la|c est trop tard|c est trop tot|est trop tard|\
                     est trop tot|ca ne m arrange pas|c est non|on ne peut pas|nous ne pouvons pas|, ce n est pas possible|\
                     , c est pas possible|, ca ne va pas|, ca va pas|, je ne peux pas|, je peux pas|, impossible|, c est impossible|\
                     , pas possible|, c est complet|, je travaille|, je ne suis pas disponible|, je ne suis pas libre|\
                     , je ne suis pas la|, c est trop tard|, c est trop tot|, ca ne m arrange pas|, c est non|, on ne peut pas|\
                     , nous ne pouvons pas",
        },
        Veto { kinds: &[Kind::Date], before: "vers|vers le|autour du|aux alentours du|aux environs du|environ le", behind: "" },
        Veto {
            kinds: &[Kind::Time],
            before: "",
            behind: "euro|euros|€|$|dollars|francs|%|pour cent|personnes|km|kilometres|metres|kilos|kg|ans|degres|jours|semaines|mois|fois",
        },
        Veto { kinds: &[Kind::Percent], before: "pas|au|ni|moins de|plus de", behind: "" },
        Veto {
            kinds: &[Kind::Number],
            before: "moins de|plus de|pas|des|au|plus ou|ni|sauf|jamais|quelques|plusieurs|sauf le|bac|route|nationale|iphone|galaxy",
            behind: "",
        },
        Veto { kinds: &[Kind::Currency], before: "moins de|plus de|pas|des|au|plus ou|ni|sauf|quelques|plusieurs|pas de", behind: "" },
        Veto { kinds: &[Kind::Duration], before: "pas|ni|sauf|quelques|plusieurs|au|deux ou|plus ou", behind: "" },
        Veto {
            kinds: &[Kind::Ordinal],
            before: "une|ni|ni le|ni la|pas|pas le|pas la|a|dans|sauf le|sauf la|en",
            behind: "classe|ministre|secours|prix|main|guerre mondiale|temps|lieu|arrive|servi|age|degre",
        },
        // From then on to what is not read.
        Veto { kinds: &[Kind::DateRange, Kind::TimeRange, Kind::DateTimeRange], before: "", behind: "jusqu|jusque" },
        // A part of a period, about it, or one of several.
        Veto {
            kinds: &[Kind::DateRange],
            before: "mi|cours de|jusqu|jusque|d ici|milieu du mois de|debut du mois de|fin du mois de|moitie du mois de|moment de|moment dans|debut|fin|mi|a la mi|debut de|fin de|milieu de|milieu|vers|vers la|vers le|autour de|environ|moitie de|moitie|reste de|partie de|plus tard|plus tot|au plus tot|au plus tard|avant|avant la|apres|des|depuis|jusqu a|jusqu en|d ici|d ici a|a partir de|a compter de|semaine de|semaines|jours de|jour|jours|fois|toujours|semaines de|courant de|au cours de",
            behind: "au plus tot|au plus tard|ou plus tard|ou plus tot|ou apres|ou avant|ou la|ou celle|ou le|ou l|ou la semaine|ou peut etre|ou un autre|ou une autre|et la suivante|et celle|et apres|environ|ou quelque chose|ou par la",
        },
        Veto {
            kinds: &[Kind::DateRange, Kind::TimeRange, Kind::DateTimeRange],
            before: "pas|pas pour|pas avant|sauf|hormis|excepte|ni|jamais|au lieu de|plutot que|surtout pas",
            behind: "non|pas|ne me convient pas|ne convient pas|ne me va pas|n est pas possible|ce n est pas possible|je ne peux pas|je ne suis pas la|impossible|c est impossible",
        },
        Veto {
            kinds: &[Kind::Date, Kind::DateTime],
            before: "",
            behind: "ou le lendemain|ou le jour|ou le surlendemain|ou plus tard|ou plus tot|ou apres|ou avant|ou un autre|ou une autre|ou quelque chose|ou par la",
        },
        Veto { kinds: &[Kind::Date, Kind::DateTime], before: "semaine du|semaine", behind: "a mi|a la mi|a debut" },
    ],
    consent: Consent {
        yes: "oui|ouais|ouaip|ouep|yep|yes|ok|okay|okey|oki|d accord|dac|d acc|entendu|bien sur|bien entendu|evidemment|certainement|absolument|tout a fait|\
              exactement|exact|parfait|parfaitement|tres bien|c est bon|c est tout bon|ca marche|ca me va|ca me convient|cela me convient|cela me va|ca nous va|\
              ca nous convient|c est d accord|je suis d accord|nous sommes d accord|on est d accord|volontiers|avec plaisir|avec joie|allez y|vas y|allons y|\
              on y va|c est parti|pourquoi pas|pas de probleme|aucun probleme|sans probleme|pas de souci|aucun souci|sans souci|je confirme|je valide|valide|\
              je veux bien|je le veux|c est ca|c est bien ca|c est correct|correct|c est exact|c est juste|affirmatif|affirmative|carrement|nickel|impec|impeccable|\
              super|genial|bonne idee|excellente idee|excellent|mais oui|bien sur que oui|je pense|je crois|je pense que oui|je crois que oui|faites le|\
              fais le|je prends|je le prends|je la prends|confirme|confirmer|j accepte|je l accepte|accepte|je suis partant|je suis partante|partant|partante|ca roule|\
              c est parfait|ce sera parfait|ce serait parfait|evidemment que oui|sans hesiter|sans aucun doute|effectivement|en effet|je souhaite continuer|marche conclu|\
              procedez|vous pouvez y aller|avec grand plaisir|tout bon|je vous suis|je signe|ca joue|top|lancez|continuez|faisons comme ca|faisons ca|faites comme ca|je suis pour|\
              je le confirme|bien volontiers|allez|vous pouvez|c est note|je le souhaite|c est ce que je veux|j accepte les conditions|\
              je valide la commande|je confirme la commande|je confirme le rendez vous|je valide le virement|je confirme le virement|rien a redire|je dirais oui|si si|mais si|c est oui|c est ok|tope la|a la bonne heure|\
              pas non|j ai dit oui|j ai bien dit oui",
        no: "non|non c est bon|nan|nope|no|jamais|pas du tout|absolument pas|certainement pas|surtout pas|pas question|hors de question|c est hors de question|pas d accord|\
             je ne suis pas d accord|je suis pas d accord|pas correct|ce n est pas correct|ce n est pas ok|c est pas bon|ce n est pas bon|ce n est pas ca|c est pas ca|\
             ca ne me va pas|ca me va pas|ca ne me convient pas|cela ne me convient pas|ca ne va pas|ca va pas|je refuse|je ne veux pas|je veux pas|je n en veux pas|\
             j en veux pas|pas maintenant|non merci|sans facon|pas vraiment|je ne pense pas|je pense pas|je ne crois pas|je crois pas|je pense que non|je crois que non|annulez|annule|\
             annuler|stop|arretez|arrete|incorrect|faux|c est faux|negatif|plutot non|je prefere pas|je ne prefere pas|je prefererais pas|je prefere ne pas|\
             pas aujourd hui|pas besoin|je n en ai pas besoin|ce n est pas necessaire|pas necessaire|pas la peine|ce n est pas la peine|laissez tomber|laisse tomber|\
             aucunement|ne faites pas ca|ne le faites pas|ne faites rien|mais non|bien sur que non|surement pas|en aucun cas|jamais de la vie|ca ne m interesse pas|\
             je ne suis pas interesse|je ne suis pas interessee|pas interesse|pas interessee|je n accepte pas|je ne confirme pas|je decline|pas pour moi|merci mais non|\
             je passe mon tour|je suis contre|je ne souhaite pas|je ne souhaite pas continuer|ca ne me dit rien|que nenni|nullement|ce n est pas exact|c est inexact|evidemment que non|\
             je ne valide pas|non ca ira|je n ai pas envie|pas envie|je n accepte pas les conditions|impossible|c est impossible|ce n est pas possible|\
             ca me convient pas|je dirais non|c est non|je n y tiens pas|ce ne sera pas necessaire|je m y oppose|rien du tout|ne touchez a rien|vraiment pas|toujours pas|\
             pas oui|j ai dit non|j ai bien dit non",
        fillers: "merci|merci beaucoup|s il vous plait|s il te plait|svp|stp|beaucoup|bien|alors|donc|bon|ben|bah|eh|euh|ah|oh|ho|he|hein|madame|monsieur|\
                  mademoiselle|vraiment|tres|ca|c est|cela|est|pour moi|avec moi|quand meme|tout|le|la|et|je|tout de suite|bonjour|bonsoir|cordialement|\
                  bonne journee|vous|a vous|pour cette fois|je crois que|je pense que|mon ami|chere|cher|infiniment|ma foi|voila|quoi|moi|totalement|\
                  entierement|completement|de votre aide|de|y|en|maintenant|aussi|dans ce cas|honnetement|franchement|desole|desolee|malheureusement|pour ma part|\
                  de mon cote|grand|tu sais|vous savez|a tous|toujours",
        changes: "mais|sauf|a condition|a condition que|si|seulement|seulement si|uniquement|par contre|en revanche|plutot|cependant|toutefois|excepte|hormis|\
                  quand|des que|tant que|pourvu que|moyennant|sous reserve|sur|vers|avec|sans|je prefere|je prefererais|je veux|je voudrais|j aimerais|mettez|prenez|\
                  choisissez|changez|ajoutez|enlevez|en fait|finalement|apres|a partir de|jusqu a|a part|pas sur le|pas le|pas la|pas celui|celui|celle|le plus tard|apres reflexion|\
                  mettons|disons|prenons",
        unsure: "je ne sais pas|je sais pas|sais pas|j en sais rien|je n en sais rien|aucune idee|peut etre|attendez|attends|un instant|un moment|une seconde|\
                 une minute|deux minutes|plus tard|pas encore|pas sur|pas sure|pas certain|pas certaine|j hesite|je vais reflechir|je reflechis|laissez moi reflechir|\
                 je dois reflechir|ca depend|cela depend|probablement|probablement pas|eventuellement|possible|c est possible|voyons|on verra|je verrai|pas tout de suite|\
                 minute|bof|mouais|tout depend|l un ou l autre|n importe|comme vous voulez|a voir|oui et non|ni oui ni non|je me tate|faut voir|il faut voir|\
                 patientez|pas convaincu|pas convaincue|sans doute|oui ou non|je ne suis pas sur|je vous redis|je vous dirai|sous peu|bientot|si on veut|ca ira|ca m est egal|peu importe",
        questions: "qu est ce|qu|est ce|quoi|qui|quand|ou|quel|quelle|quels|quelles|combien|comment|pourquoi est|pourquoi faut|pourquoi dois|pourquoi c|pouvez vous|peux tu|puis je|\
                    pourrais je|pourriez vous|avez vous|etes vous|es tu|as tu|dois je|faut il|y a t il|c est quoi|c est combien|vous pouvez|on peut|que",
        inquiries: "est ce que|est|c est|sont|combien|quel|quelle|quand|ou|qui|pourquoi|avez vous|y a t il|qu est ce|ouvrez|fermez|il y a",
        proposals: "possible|ok|d accord|ca va|ca irait|convient|disponible|est ce que je peux|est ce qu on peut|et si|pourrait|serait|peut on",
        yes_alone: "o|1|si|bien|bon|voila|y",
        no_alone: "n|0",
    },
    commands: CommandWords {
        abbreviations: "pk=pourquoi|pq=pourquoi|pourkoi=pourquoi|koi=quoi|c=c est",
        cancel: "annuler|annule|annulez|annule tout|annulez tout|annuler tout|annule ca|annulez ca|tout annuler|abandonner|\
                 abandonne|abandonnez|j abandonne|arreter|arrete|arretez|stop|stoppe|stoppez|quitter|sortir|terminer|laisse tomber|\
                 laissez tomber|oublie|oubliez|oublie ca|oubliez ca|oublie cela|oubliez cela|tant pis|laisse|laissez|\
                 ca ne fait rien|finalement non|en fait non|j ai change d avis|je change d avis|je ne veux plus|je n en veux plus|\
                 je veux plus|ce n est plus la peine|c est plus la peine",
        skip: "passer|passe|passez|je passe|passer cette question|passer la question|passe cette question|passez cette question|\
               sauter|saute|sautez|sauter cette question|sauter la question|question suivante|la question suivante|\
               a la question suivante|suivant|suivante|pas de reponse|sans reponse|je prefere ne pas le dire|\
               je prefere ne pas dire|je prefere ne pas repondre|je ne veux pas le dire|je ne veux pas repondre|\
               je ne souhaite pas repondre|laisser vide|laissez vide|non applicable|sans objet",
        repeat: "repeter|repete|repetez|repeter ca|repeter la question|repete la question|repetez la question|repetez ca|repete ca|\
                 repeter cela|le repeter|encore une fois|encore|une fois de plus|a nouveau|pardon|comment|comment ca|vous disiez|\
                 tu disais|qu avez vous dit|qu as tu dit|qu est ce que vous avez dit|qu est ce que tu as dit|\
                 quelle etait la question|c etait quoi la question|c est quoi la question|redites|redis|redites le|redis le|\
                 je n ai pas entendu|j ai pas entendu|je ne vous ai pas entendu|\
                 je l ai deja dit|je vous l ai deja dit|je te l ai deja dit|je viens de le dire|\
                 je viens de vous le dire|je viens de te le dire|deja dit|j ai deja repondu|comme je l ai dit",
        help: "aide|aidez moi|aide moi|a l aide|j ai besoin d aide|quoi|hein|que voulez vous dire|que veux tu dire|\
               qu est ce que vous voulez dire|qu est ce que tu veux dire|que voulez vous dire par la|que veux tu dire par la|\
               qu est ce que ca veut dire|qu est ce que cela veut dire|que veut dire ca|ca veut dire quoi|ca signifie quoi|\
               que signifie cela|que signifie ca|c est quoi|qu est ce que c est|que voulez vous|que veux tu|\
               que voulez vous savoir|que veux tu savoir|pourquoi|pourquoi ca|pourquoi vous demandez ca|pourquoi tu demandes ca|\
               pourquoi demandez vous ca|pourquoi demandes tu ca|pourquoi vous demandez|pourquoi tu demandes|\
               pourquoi demandez vous cela|pourquoi vous me demandez ca|pourquoi tu me demandes ca|pourquoi cette question|\
               pourquoi voulez vous le savoir|pourquoi voulez vous savoir ca|pourquoi voulez vous savoir cela|\
               pourquoi veux tu savoir ca|pourquoi vous voulez savoir ca|pourquoi tu veux savoir ca|\
               pourquoi avez vous besoin de ca|pourquoi avez vous besoin de cela|pourquoi vous avez besoin de ca|\
               pourquoi tu as besoin de ca|pourquoi as tu besoin de ca|pourquoi en avez vous besoin|pourquoi est ce necessaire|\
               pour quoi faire|a quoi ca sert|a quoi cela sert|je ne comprends pas|je comprends pas|je n ai pas compris|\
               j ai pas compris|je ne comprends pas la question|je suis perdu|je suis perdue|que dois je dire|\
               que dois je repondre|que dois je ecrire|que dois je saisir|que dois je faire|qu est ce que je dois dire|\
               qu est ce que je dois repondre|que puis je dire|que puis je faire|que puis je demander|quelles sont les options|\
               quelles sont mes options|quels sont les choix|quels sont mes choix|expliquez|explique|expliquez moi|explique moi|\
               expliquez ca|explique ca|et maintenant|comment ca marche|c est pour quoi|c est pour quoi faire|pourquoi t as besoin de ca",
        back: "retour|retour en arriere|en arriere|revenir|reviens|revenez|revenir en arriere|reviens en arriere|\
               revenez en arriere|retourner en arriere|retourne en arriere|un pas en arriere|une etape en arriere|\
               question precedente|a la question precedente|la question precedente|revenir a la question precedente|\
               retour a la question precedente|etape precedente|precedent|precedente|la precedente|modifier ma derniere reponse|\
               changer ma derniere reponse|corriger ma derniere reponse|je me suis trompe|je me suis trompee",
        start_over: "recommencer|recommence|recommencez|tout recommencer|recommencer depuis le debut|recommencer du debut|\
                     recommencer a zero|recommencer de zero|repartir de zero|reprendre du debut|reprendre depuis le debut|\
                     reprendre au debut|depuis le debut|du debut|de zero|reinitialiser|redemarrer|revenir au debut|retour au debut|\
                     menu principal|retour au menu principal|revenir au menu principal|nouvelle conversation",
        person: "personne|une personne|une vraie personne|vraie personne|une personne reelle|humain|un humain|un vrai humain|\
                 etre humain|un etre humain|agent|un agent|un agent humain|conseiller|un conseiller|une conseillere|conseillere|\
                 operateur|un operateur|une operatrice|representant|un representant|quelqu un|employe|un employe|une employee|\
                 service client|le service client|au service client|support|le support|assistance|un collegue|un responsable|\
                 le responsable|votre responsable|un superviseur",
        fillers: "s il vous plait|s il te plait|svp|stp|merci|ok|d accord|bon|bien|oh|ah|euh|hm|non|oui|alors|donc|maintenant|plutot|\
                  pardon|desole|desolee|pouvez vous|peux tu|pourriez vous|pourrais tu|vous pouvez|tu peux|peut on|pourrait on|\
                  on peut|je peux|puis je|est ce que je peux|est ce que vous pouvez|est ce qu on peut|je veux|je voudrais|j aimerais|\
                  je souhaite|j ai besoin de|j ai besoin d|je prefere|parler a|parler avec|parler|discuter avec|\
                  mettez moi en relation avec|mets moi en relation avec|passez moi|passe moi|transferez moi a|transferez moi vers|\
                  connectez moi a|me|le|la|l|ca|cela|tout|et|bonjour|salut|ici|tout de suite|a|avec|de|y a t il|mais|directement|\
                  simplement|juste|enfin|finalement|cette|je vais|il faut|un instant|au|attends|attendez|une seconde|un moment|une minute|ecoute|ecoutez|en fait|du coup|oups",
        corrections: "j ai dit|je disais|non attends|non attendez|attends|attendez|attends non|attendez non|non pardon|pardon|non|oh non|non desole|\
                      non desolee|desole|desolee|enfin|enfin non|plutot|ou plutot|en fait|en fait non|oups|mettez plutot|mets plutot|\
                      disons|mais plutot|pas question|surtout pas|jamais",
        retractions: "je veux dire|je voulais dire|j ai voulu dire|je voulais ecrire|correction|je me suis trompe|je me suis trompee|\
                      je corrige|erreur|changez en|change en|ca devrait etre|cela devrait etre|au temps pour moi|autant pour moi",
        endings: "a la place|plutot",
        refusals: "ne veux pas|veux pas|ne voulais pas|voulais pas|ne voudrais pas|voudrais pas|ne souhaite pas|souhaite pas|\
                   ne souhaitais pas|n ai pas besoin de|n ai pas besoin d|ai pas besoin de|ai pas besoin d|ne desire pas|ne veux plus|\
                   veux plus|prefere ne pas|surtout pas|je ne vais pas|je vais pas",
        first_refusals: "ne|pas",
        last_refusals: "",
        denials_before: "pas|non pas|au lieu de|plutot que|sans|sauf|excepte|tout sauf|surtout pas|mais pas|ce n est pas|n est pas|pas de|je deteste|allergique a|allergique au|allergique aux|ni",
        or: "ou",
        denials_behind: "est impossible|ne va pas|ne me convient pas|ne convient pas|c est trop tard|c est trop tot|est trop tard|est trop loin|est trop tot|n est pas possible|c est impossible|ne marche pas|c est trop loin",
        links: "le|la|les|l|a|au|aux|de|du|des|d|en|pour|vers|depuis|jusqu a|un|une|avec|chez",
        links_behind: "",
        additions: "et|aussi|plus|ajoutez|ajoute|et aussi|avec",
        last_additions: "aussi|en plus|egalement",
    },
};
