//! Portuguese.

use super::command_words::CommandWords;
use super::{Consent, Language, NumberWords, RangeWords, Veto};
use crate::action::Action;
use crate::calendar::{Part, Unit};
use crate::category::Category;
use crate::kind::Kind;

/// What follows the name of a weekday that is an ordinal, too, where it is a weekday.
macro_rules! behind_weekday {
    () => {
        "($|=as|=ao|=pela|=por|=agora|=mesmo|=tambem|=se|=pode|=posso|=podemos|=consigo|=eu|=estou|=tenho|=nao|=vou|=seria|=serve|=cedo|=depois|=antes|=e|=ou|=mas|\
         =porque|=pois|=quando|=entre|=das|=umas|=no|=na|=em|=com|=para|=pra|=logo|=vai|=e que|=perto|=so|=chego|=viajo|=volto|de manha|a tarde|a noite|de tarde|de noite)"
    };
}

/// Before a weekday, a day, a month.
macro_rules! on {
    () => {
        "(no|na|em|para|pra|para o|para a|pro|pra a|nesse|neste|nessa|nesta|do|da|pela|pelo|este|esta|esse|essa)"
    };
}

/// Before a time.
macro_rules! at {
    () => {
        "(às|as|pelas|la pelas|ali pelas|por volta das|por volta de|cerca das|perto das|em torno das|para as|pras|la para as|la pras|la por|tipo|@|sao|eram|nas)"
    };
}

/// Before a year.
macro_rules! in_year {
    () => {
        "(de|do|,|em|deste|desse)"
    };
}

/// Between the ends of a range of times.
macro_rules! to_time {
    () => {
        "(as|a|ate|ate as|ate a|e|e as|e a|-)"
    };
}

pub(super) static LANGUAGE: Language = Language {
    code: "pt",
    numbers: NumberWords {
        cardinals: &[
            ("zero", 0),
            ("um|uma|hum", 1),
            ("dois|duas", 2),
            ("tres", 3),
            ("quatro", 4),
            ("cinco", 5),
            ("seis", 6),
            ("sete", 7),
            ("oito", 8),
            ("nove", 9),
            ("dez", 10),
            ("onze", 11),
            ("doze", 12),
            ("treze", 13),
            ("quatorze|catorze", 14),
            ("quinze", 15),
            ("dezesseis|dezasseis", 16),
            ("dezessete|dezassete", 17),
            ("dezoito", 18),
            ("dezenove|dezanove", 19),
            ("vinte", 20),
            ("trinta", 30),
            ("quarenta", 40),
            ("cinquenta|cincoenta", 50),
            ("sessenta", 60),
            ("setenta", 70),
            ("oitenta", 80),
            ("noventa", 90),
            ("cem|cento", 100),
            ("duzentos|duzentas", 200),
            ("trezentos|trezentas", 300),
            ("quatrocentos|quatrocentas", 400),
            ("quinhentos|quinhentas", 500),
            ("seiscentos|seiscentas", 600),
            ("setecentos|setecentas", 700),
            ("oitocentos|oitocentas", 800),
            ("novecentos|novecentas", 900),
            ("meia duzia", 6),
            ("meia centena", 50),
            ("meio milhao", 500_000),
            ("meio bilhao", 500_000_000),
        ],
        multipliers: &[
            ("mil", 1_000),
            ("milhao|milhoes", 1_000_000),
            ("bilhao|bilhoes", 1_000_000_000),
            ("trilhao|trilhoes|biliao|bilioes", 1_000_000_000_000),
            ("quatrilhao|quatrilhoes", 1_000_000_000_000_000),
            ("triliao|trilioes", 1_000_000_000_000_000_000),
        ],
        ordinals: &[
            ("primeiro|primeira", 1),
            ("segundo|segunda", 2),
            ("terceiro|terceira", 3),
            ("quarto|quarta", 4),
            ("quinto|quinta", 5),
            ("sexto|sexta", 6),
            ("setimo|setima", 7),
            ("oitavo|oitava", 8),
            ("nono|nona", 9),
            ("decimo|decima", 10),
            ("undecimo|undecima|decimo primeiro|decima primeira", 11),
            ("duodecimo|duodecima|decimo segundo|decima segunda", 12),
            ("decimo terceiro|decima terceira", 13),
            ("decimo quarto|decima quarta", 14),
            ("decimo quinto|decima quinta", 15),
            ("decimo sexto|decima sexta", 16),
            ("decimo setimo|decima setima", 17),
            ("decimo oitavo|decima oitava", 18),
            ("decimo nono|decima nona", 19),
            ("vigesimo|vigesima", 20),
            ("trigesimo|trigesima", 30),
            ("quadragesimo|quadragesima", 40),
            ("quinquagesimo|quinquagesima", 50),
            ("sexagesimo|sexagesima", 60),
            ("septuagesimo|septuagesima|setuagesimo|setuagesima", 70),
            ("octogesimo|octogesima", 80),
            ("nonagesimo|nonagesima", 90),
            ("centesimo|centesima", 100),
            ("ducentesimo|ducentesima", 200),
            ("trecentesimo|trecentesima|tricentesimo|tricentesima", 300),
            ("quadringentesimo|quadringentesima", 400),
            ("quingentesimo|quingentesima", 500),
            ("sexcentesimo|sexcentesima|seiscentesimo|seiscentesima", 600),
            ("septingentesimo|septingentesima|setingentesimo|setingentesima", 700),
            ("octingentesimo|octingentesima", 800),
            ("noningentesimo|noningentesima|nongentesimo|nongentesima", 900),
            ("milesimo|milesima", 1_000),
            ("milionesimo|milionesima", 1_000_000),
            ("bilionesimo|bilionesima", 1_000_000_000),
        ],
        ordinal_signs: "o|a|os|as",
        ordinal_endings: "",
        // A quarter is no part: it is a room as well.
        parts: &[
            ("terco|tercos", 3),
            ("quinto|quintos|cinco avos", 5),
            ("sexto|sextos|seis avos", 6),
            ("setimo|setimos", 7),
            ("oitavo|oitavos", 8),
            ("nono|nonos", 9),
            ("decimo|decimos|dez avos", 10),
            ("onze avos", 11),
            ("doze avos", 12),
            ("treze avos", 13),
            ("catorze avos|quatorze avos", 14),
            ("quinze avos", 15),
            ("dezesseis avos|dezasseis avos", 16),
            ("vinte avos", 20),
            ("vinte e um avos", 21),
            ("vinte e quatro avos", 24),
            ("vinte e cinco avos", 25),
            ("trinta avos", 30),
            ("quarenta avos", 40),
            ("cinquenta avos", 50),
            ("cem avos|centesimo|centesimos", 100),
            ("duzentos avos", 200),
            ("mil avos|milesimo|milesimos", 1_000),
            ("milionesimo|milionesimos", 1_000_000),
            ("bilionesimo|bilionesimos", 1_000_000_000),
        ],
        // "e meia" is said of hours.
        additions: &[("e meio", 1, 2)],
        prefixes: &[],
        fractions: &[],
        groups: &[("duzia|duzias", 12), ("dezena|dezenas", 10), ("centena|centenas", 100)],
        and: "e",
        has_ones_first: false,
        is_compound: false,
        is_one_implied: true,
        tens_before_teens: &[],
        point: "virgula|ponto|~com",
        minus: "menos",
        percent: "por cento|porcento|por cem",
        articles: "um|uma",
        short_multipliers: &[("k", 1_000), ("mi", 1_000_000), ("bi", 1_000_000_000), ("tri", 1_000_000_000_000)],
        over: "sobre|em cada|de cada|dividido por",
        of: "de",
        before_pronoun: "o|a|cada|nenhum|qualquer|algum|alguma|so|mais|qual|esse|essa|este|esta|outro|outra|mesmo|como|por|de|e|nem",
        behind_pronoun: "dos|das|do|da|de|deles|delas|destes|destas|desses|dessas|outro|outra|que|a um|por um|momento|momentinho|minuto|minutinho|segundo|segundinho|\
                         instante|pouco|pouquinho|dia|tal|monte|absurdo|problema|favor|ajuda|vergonha|pena|beijo|abraco|duvida|pergunta|coisa|percentual|percentagem|porcentagem|desconto|taxa|valor|total|juro|numero|media|reuniao|consulta|ideia|opcao|amigo|amiga",
    },
    rules: &[
        (
            Category::Month,
            &[
                ("janeiro|jan", Action::Month(1)),
                ("fevereiro|fev", Action::Month(2)),
                ("marco", Action::Month(3)),
                ("abril|abr", Action::Month(4)),
                ("maio|mai", Action::Month(5)),
                ("junho|jun", Action::Month(6)),
                ("julho|jul", Action::Month(7)),
                ("agosto|ago", Action::Month(8)),
                ("setembro|set", Action::Month(9)),
                ("outubro|out", Action::Month(10)),
                ("novembro|nov", Action::Month(11)),
                ("dezembro", Action::Month(12)),
            ],
        ),
        (
            Category::Weekday,
            &[
                ("segunda feira|segundafeira|2 ª feira|2 a feira", Action::Weekday(1)),
                ("terca feira|tercafeira|terca|3 ª feira|3 a feira", Action::Weekday(2)),
                ("quarta feira|quartafeira|4 ª feira|4 a feira", Action::Weekday(3)),
                ("quinta feira|quintafeira|5 ª feira|5 a feira", Action::Weekday(4)),
                ("sexta feira|sextafeira|6 ª feira|6 a feira", Action::Weekday(5)),
                ("sabado", Action::Weekday(6)),
                ("domingo", Action::Weekday(7)),
            ],
        ),
        // Ordinals, and abbreviations that may be words.
        (
            Category::ShortWeekday,
            &[
                ("{weekday}", Action::Same),
                ("segunda|seg|2 ª", Action::Weekday(1)),
                ("quarta|qua|4 ª", Action::Weekday(3)),
                ("quinta|qui|5 ª", Action::Weekday(4)),
                ("sexta|sex|6 ª", Action::Weekday(5)),
                ("sab", Action::Weekday(6)),
            ],
        ),
        (
            Category::Unit,
            &[
                ("anos|ano", Action::Unit(Unit::Year)),
                ("meses|mes", Action::Unit(Unit::Month)),
                ("semanas|semana", Action::Unit(Unit::Week)),
                ("dias|dia", Action::Unit(Unit::Day)),
                ("horas|hora|hrs|hr|hs|h|horinha|horinhas", Action::Unit(Unit::Hour)),
                ("minutos|minuto|mins|min|minutinhos", Action::Unit(Unit::Minute)),
                ("segundos|segs", Action::Unit(Unit::Second)),
                ("trimestres|trimestre", Action::Unit(Unit::Quarter)),
                ("decadas|decada", Action::Unit(Unit::Decade)),
                ("seculos|seculo", Action::Unit(Unit::Century)),
            ],
        ),
        (
            Category::Part,
            &[
                ("am|a m|da madrugada|de madrugada|desta madrugada", Action::Part(Part::Am)),
                ("pm|p m", Action::Part(Part::Pm)),
                ("da manha|de manha|pela manha|na parte da manha|desta manha", Action::Part(Part::Morning)),
                ("da tarde|de tarde|a tarde|pela tarde|na parte da tarde|desta tarde", Action::Part(Part::Afternoon)),
                ("da noite|de noite|a noite|pela noite|desta noite", Action::Part(Part::Night)),
            ],
        ),
        (
            Category::Year,
            &[
                ("este ano|ano corrente", Action::YearOffset(0)),
                ("ano que vem|proximo ano|ano seguinte", Action::YearOffset(1)),
                ("ano passado|ultimo ano", Action::YearOffset(-1)),
            ],
        ),
        (
            Category::Span,
            &[
                ("meio dia", Action::Nothing),
                ("(meia|meio) {unit}", Action::Fraction(1, 2)),
                ("um quarto de {unit}", Action::Fraction(1, 4)),
                ("tres quartos de {unit}", Action::Fraction(3, 4)),
                ("(um)? par de {unit}", Action::CountOf(2)),
                ("{number} (-)? {unit}", Action::Count),
                ("{number} (noite|noites)", Action::CountOfUnit(Unit::Day)),
                ("(1|um) segundo", Action::UnitOf(Unit::Second)),
                (
                    "{number} {unit} (inteiro|inteira|inteiros|inteiras|completo|completa|completos|completas|seguidos|seguidas)",
                    Action::Count,
                ),
                ("(todo o|toda a|o|a) {unit} (todo|toda|inteiro|inteira)", Action::Count),
                ("(todo o|toda a) {unit} $", Action::Count),
            ],
        ),
        (
            Category::Duration,
            &[
                ("{span} e (meia|meio)", Action::AndFraction(1, 2)),
                ("{span} e (um)? quarto", Action::AndFraction(1, 4)),
                ("{span} e tres quartos", Action::AndFraction(3, 4)),
                ("{span} (,)? e {duration}", Action::Sum),
                ("{span} e {minute} $", Action::AndSmaller),
                ("{span} {digits} ($|=de|=no|=por|=para)", Action::AndSmaller),
            ],
        ),
        (
            Category::Date,
            &[
                ("hoje em dia|hoje em diante", Action::Nothing),
                ("hoje|hj|no dia de hoje|dia de hoje", Action::Days(0)),
                ("amanha|amanh|dia de amanha", Action::Days(1)),
                ("ontem", Action::Days(-1)),
                ("(no)? (dia)? depois de amanha", Action::Days(2)),
                ("anteontem|antontem|antes de ontem", Action::Days(-2)),
                ("(no)? (dia seguinte|proximo dia)", Action::Days(1)),
                ("{weekday}", Action::ComingWeekday),
                (concat!(on!(), " {weekday}"), Action::ComingWeekday),
                (concat!("(na|nesta|nessa|esta|essa|pela|para a|pra a) {wd} ", behind_weekday!()), Action::ComingWeekday),
                (concat!("(para|pra) {wd} ", behind_weekday!()), Action::ComingWeekday),
                ("(para|pra|nesta|esta|nessa|essa) {wd} (feira)? (agora|mesmo)", Action::ComingWeekday),
                (
                    "^ {wd} ($|=as|=pela|=por|de manha|a tarde|a noite|de tarde|de noite|=agora|=seria|=serve|=pode|=ou)",
                    Action::ComingWeekday,
                ),
                (
                    concat!(
                        "(ser|seria|fica|ficaria|marca|marcar|marque|agenda|agendar|agende|remarcar|quero|prefiro|vou|chego|talvez|serve|entregar|entregue|ir|vir) {wd} ",
                        behind_weekday!()
                    ),
                    Action::ComingWeekday,
                ),
                (
                    concat!(
                        "(ser|seria|fica|ficaria|marca|marcar|marque|agendar|remarcar|vou|volto|chego|passo|posso|consigo|venho|ir|vir|so|entregar|pago|livre) (na|para a|pra|pra a) {wd} ",
                        behind_weekday!()
                    ),
                    Action::ComingWeekday,
                ),
                ("(cai|recebo|receber|pagar|pagam|recebi|sai) (o|meu|o meu|do)? decimo terceiro", Action::Nothing),
                ("(de|da)? (segunda|quarta|quinta) a (quarta|quinta|sexta)", Action::Nothing),
                (
                    "(parcelar|parcelado|parcela|dividir|dividido|divido|pagar|pago|financiar|financiado|quitar|fazer|faz|contrato) em {duration}",
                    Action::Nothing,
                ),
                ("a {wd} $", Action::Nothing),
                ("{wd} (=as|de manha|a tarde|a noite|de tarde|de noite|agora)", Action::ComingWeekday),
                ("(na|no|a|o|para a|para o|pra|pro|da|do)? (proxima|proximo|prox) {wd}", Action::WeekdayOfWeek(1)),
                ("(na|no|a|o|para|pra|para a|para o|pro)? {wd} que vem", Action::WeekdayOfWeek(1)),
                ("{wd} que vem", Action::WeekdayOfWeek(1)),
                ("(na|no)? {wd} (da|na|de)? (semana que vem|proxima semana|prox semana|semana seguinte)", Action::WeekdayOfWeek(1)),
                ("{wd} (da|na|de)? (semana que vem|proxima semana|prox semana|semana seguinte)", Action::WeekdayOfWeek(1)),
                ("(na|da|a)? (semana que vem|proxima semana) (,|e)? (na|no|a|o)? {wd}", Action::WeekdayOfWeek(1)),
                ("{wd} (desta semana|dessa semana|esta semana|nesta semana|essa semana)", Action::WeekdayOfWeek(0)),
                ("(na|no) {wd} (desta semana|dessa semana|esta semana|nesta semana|essa semana)", Action::WeekdayOfWeek(0)),
                ("(esta semana|nesta semana|essa semana) (,)? (na|no|a|o)? {wd}", Action::WeekdayOfWeek(0)),
                ("(na|no|a|o|da|do)? (ultima|ultimo) {wd}", Action::WeekdayOfWeek(-1)),
                ("(na|no|a|o)? {wd} (passada|passado)", Action::WeekdayOfWeek(-1)),
                ("{wd} (passada|passado)", Action::WeekdayOfWeek(-1)),
                ("(na|no|a|o)? (passada|passado) {wd}", Action::WeekdayOfWeek(-1)),
                ("(de)? ({date}|{wd}) a (oito|quinze|8|15) (dias)?", Action::Nothing),
                ("(na|no)? {wd} (da|na) semana passada", Action::WeekdayOfWeek(-1)),
                ("{wd} (da|na) semana passada", Action::WeekdayOfWeek(-1)),
                ("{wd} (retrasada|retrasado)", Action::WeekdayOfWeek(-2)),
                ("{wd} (sem ser esta|sem ser essa|a oito|a oito dias)", Action::Nothing),
                ("(na|no|a|o|da|do)? (outra|outro) {wd}", Action::Nothing),
                ("(na|no|a|o)? {wd} (seguinte|retrasada|retrasado|qualquer)", Action::Nothing),
                ("{wd} (seguinte|qualquer)", Action::Nothing),
                ("{wd} (,)? (da)? daqui a {duration}", Action::WeekdayShift(1)),
                ("daqui a {duration} (,)? (na|no|numa|num) {wd}", Action::WeekdayShift(1)),
                ("(seg|ter|qua|qui|sex|sab|dom) (,)? {date}", Action::Same),
                ("{wd} (,)? (no|o)? dia {day}", Action::Calendar),
                ("{wd} (,)? (no|o)? dia {day}", Action::Nothing),
                ("{wd} (,)? {day} ($|=as|=por)", Action::Calendar),
                ("{wd} (,)? {day} ($|=as|=por)", Action::Nothing),
                ("{wd} (,)? (dia|o dia|no dia|a|em)? {day} (de)? {month} (de|do|,)? {year}?", Action::Calendar),
                ("{wd} (,)? (dia|o dia|no dia|a|em)? {day} / {day}", Action::Calendar),
                ("{wd} (,)? (dia|o dia|no dia|a|em)? {day} / {day} / ({year}|{short})", Action::Calendar),
                ("{wd} (,)? (dia|o dia|no dia|a|em)? {day} - {day} - ({year}|{short})", Action::Calendar),
                (concat!(on!(), " {date}"), Action::Same),
                ("(dia|de|data de|data) {date}", Action::Same),
                ("(o|no|do|para o|pro|ao|neste|nesse|este)? dia {day}", Action::Calendar),
                ("(no|o|para o)? proximo dia {day}", Action::Calendar),
                ("(no|o)? (ultimo|passado) dia {day}", Action::Nothing),
                ("dia {day} (passado|qualquer)", Action::Nothing),
                ("(no|o|do)? (dia)? {day} (de|do)? (mes)? (de)? {month}", Action::Calendar),
                ("{day} (de)? {month}", Action::Calendar),
                (concat!("{day} (de)? {month} ", in_year!(), "? (ano de)? {year}"), Action::Calendar),
                ("{day} de {month} de {short}", Action::Calendar),
                ("{day} {month} {short} $", Action::Calendar),
                ("{day} de {month} {short} $", Action::Calendar),
                ("{day} (de|do) {day} (de|do) {year}", Action::Calendar),
                ("dia {day} (do|de) {day}", Action::Calendar),
                ("{month} {day} $", Action::Calendar),
                ("{month} {day} , {year}", Action::Calendar),
                ("{day} - {month}", Action::Calendar),
                ("{day} / {month}", Action::Calendar),
                ("{day} - {month} - {year}", Action::Calendar),
                ("{day} - {month} - {short}", Action::Calendar),
                ("{day} / {month} / {year}", Action::Calendar),
                ("{day} / {month} / {short}", Action::Calendar),
                ("{day} . {month} . {year}", Action::Calendar),
                ("{day} / {day} , {year}", Action::Calendar),
                ("{day} - {year} - {month}", Action::Calendar),
                ("{month} - {day} - {year}", Action::Calendar),
                ("{month} - {year} - {day}", Action::Calendar),
                ("{month} / {day} / {year}", Action::Calendar),
                ("{year} / {month} / {day}", Action::Calendar),
                ("{year} - {month} - {day}", Action::Calendar),
                ("{year} / {day} / {month}", Action::Calendar),
                ("(o|no)? dia {day} (deste mes|desse mes|do mes corrente|do corrente mes|do mes|deste|agora)", Action::DayOfMonth(0)),
                ("{day} (deste mes|desse mes|do corrente)", Action::DayOfMonth(0)),
                ("(o|no)? (dia)? {day} (do|de)? (mes que vem|proximo mes|mes seguinte|prox mes)", Action::DayOfMonth(1)),
                ("{day} (do|de)? (mes que vem|proximo mes|mes seguinte|prox mes)", Action::DayOfMonth(1)),
                ("(o|no)? (dia)? {day} (do|de)? (mes passado|ultimo mes)", Action::DayOfMonth(-1)),
                ("{day} (do|de)? (mes passado|ultimo mes)", Action::DayOfMonth(-1)),
                ("(no|ao|o|para o|pro)? (fim|final|ultimo dia) (do mes|deste mes|desse mes|do mes corrente)", Action::MonthEdge(-1, 0)),
                ("(no|ao|o|para o|pro)? (fim|final|ultimo dia) do (mes que vem|proximo mes|mes seguinte)", Action::MonthEdge(-1, 1)),
                ("(no|ao|o)? (fim|final|ultimo dia) do (mes passado|ultimo mes)", Action::MonthEdge(-1, -1)),
                (concat!("(no|ao|o|para o|pro)? (fim|final|ultimo dia) de {month} ", in_year!(), "? {year}?"), Action::MonthEdge(-1, 0)),
                ("(no|ao|o|para o|pro)? (comeco|inicio|primeiro dia) do (mes que vem|proximo mes|mes seguinte)", Action::MonthEdge(1, 1)),
                ("(no|ao|o|para o|pro)? (comeco|inicio|primeiro dia) (do mes|deste mes|desse mes)", Action::MonthEdge(1, 0)),
                (
                    concat!("(no|ao|o|para o|pro)? (comeco|inicio|primeiro dia) de {month} ", in_year!(), "? {year}?"),
                    Action::MonthEdge(1, 0),
                ),
                ("(no|ao|o|para o|pro)? (fim|final|ultimo dia) (do ano|deste ano|desse ano)", Action::YearEdge(-1, 0)),
                ("(no|ao|o|para o|pro)? (fim|final|ultimo dia) do (ano que vem|proximo ano)", Action::YearEdge(-1, 1)),
                ("(no|ao|o|para o|pro)? (fim|final|ultimo dia) de {year}", Action::YearEdge(-1, 0)),
                ("(no|o)? primeiro dia do (ano que vem|proximo ano)", Action::YearEdge(1, 1)),
                ("(no|na|o|a)? {ordinal} {wd} de {month} (de|do)? {year}?", Action::NthWeekday(0, 0)),
                ("(no|na|o|a)? {ordinal} {wd} (deste mes|desse mes|do mes)", Action::NthWeekday(0, 0)),
                ("(no|na|o|a)? {ordinal} {wd} do (mes que vem|proximo mes|mes seguinte)", Action::NthWeekday(0, 1)),
                ("(no|na|o|a)? {ordinal} {wd} do (mes passado|ultimo mes)", Action::NthWeekday(0, -1)),
                ("{ordinal} {wd} de {month} (de|do)? {year}?", Action::NthWeekday(0, 0)),
                ("{ordinal} {wd} (deste mes|desse mes|do mes)", Action::NthWeekday(0, 0)),
                ("{ordinal} {wd} do (mes que vem|proximo mes|mes seguinte)", Action::NthWeekday(0, 1)),
                ("(no|na|o|a)? (ultimo|ultima) {wd} de {month} (de|do)? {year}?", Action::NthWeekday(-1, 0)),
                ("(no|na|o|a)? (ultimo|ultima) {wd} (deste mes|desse mes|do mes)", Action::NthWeekday(-1, 0)),
                ("(no|na|o|a)? (ultimo|ultima) {wd} do (mes que vem|proximo mes|mes seguinte)", Action::NthWeekday(-1, 1)),
                ("(daqui a|daqui|dentro de|em|para daqui a) {duration}", Action::Shift(1)),
                ("(daqui a|daqui|dentro de|em|há|ha|faz|ate) {number} (dia|dias) (util|uteis)", Action::Nothing),
                ("(daqui a|daqui|dentro de|em|há|ha|faz) {number} (a|ou|e|ate|-) {number} {unit}", Action::Nothing),
                ("{duration} (a partir de|a contar de|depois de|apos|depois do|depois da) {date}", Action::Shift(1)),
                ("{duration} a partir de agora", Action::Shift(1)),
                ("{duration} (atras|antes de hoje)", Action::Shift(-1)),
                ("(há|faz) {duration} (atras)?", Action::Shift(-1)),
                ("ha {duration} (atras)?", Action::Shift(-1)),
                ("(há|ha|faz) {duration} que", Action::Nothing),
                ("{duration} (antes de|antes do|antes da|antes) {date}", Action::Shift(-1)),
                ("{duration} depois {date}", Action::Shift(1)),
                ("(no)? dia (depois de|depois do|seguinte a|seguinte ao) {date}", Action::ShiftBy(1, Unit::Day)),
                ("(na)? vespera (de|do|da) {date}", Action::ShiftBy(-1, Unit::Day)),
                (concat!("(o|no|do|ao|neste|dia de|noite de|dia do) natal ", in_year!(), "? {year}?"), Action::Yearly(12, 25)),
                (concat!("natal ", in_year!(), " {year}"), Action::Yearly(12, 25)),
                (concat!("(na|a|da)? vespera (de|do) natal ", in_year!(), "? {year}?"), Action::Yearly(12, 24)),
                (concat!("(na|da)? (noite|ceia) de natal ", in_year!(), "? {year}?"), Action::Yearly(12, 24)),
                (concat!("(no|o|do)? (dia de)? (ano novo|confraternizacao universal) ", in_year!(), "? {year}?"), Action::Yearly(1, 1)),
                (concat!("(na|a|da)? vespera (de|do) ano novo ", in_year!(), "? {year}?"), Action::Yearly(12, 31)),
                (concat!("(no|o|do)? (dia de)? reis ", in_year!(), "? {year}?"), Action::Nothing),
                (concat!("(no|o)? dia de reis ", in_year!(), "? {year}?"), Action::Yearly(1, 6)),
                (concat!("(no|o)? (dia internacional da mulher|dia da mulher) ", in_year!(), "? {year}?"), Action::Yearly(3, 8)),
                (concat!("(no)? dia do pai ", in_year!(), "? {year}?"), Action::Yearly(3, 19)),
                (
                    concat!("(na|a|no|o|da|do)? (black friday|sexta feira negra) ", in_year!(), "? {year}?"),
                    Action::DaysAfterHoliday(11, 4, 4, 1),
                ),
                (
                    concat!("(na|a|no|o|da|do)? (cyber monday|segunda cibernetica) ", in_year!(), "? {year}?"),
                    Action::DaysAfterHoliday(11, 4, 4, 4),
                ),
                ("uma (black friday|sexta feira negra)", Action::Nothing),
                (
                    "(oferta|ofertas|desconto|descontos|promocao|promocoes|preco|precos|semana) (da|de|do|para a) (black friday|sexta feira negra|cyber monday)",
                    Action::Nothing,
                ),
                (concat!("(no)? dia dos pais ", in_year!(), "? {year}?"), Action::Holiday(8, 7, 2)),
                (concat!("(no)? dia das maes ", in_year!(), "? {year}?"), Action::Holiday(5, 7, 2)),
                (concat!("(no)? dia da mae ", in_year!(), "? {year}?"), Action::Holiday(5, 7, 1)),
                (concat!("(no)? dia da mentira ", in_year!(), "? {year}?"), Action::Yearly(4, 1)),
                (concat!("(no|em)? (feriado de)? tiradentes ", in_year!(), "? {year}?"), Action::Yearly(4, 21)),
                (concat!("(no)? (dia da liberdade|dia dos cravos) ", in_year!(), "? {year}?"), Action::Yearly(4, 25)),
                (concat!("(no)? (dia do trabalho|dia do trabalhador) ", in_year!(), "? {year}?"), Action::Yearly(5, 1)),
                (concat!("[BR -] (no)? dia dos namorados ", in_year!(), "? {year}?"), Action::Yearly(6, 12)),
                (concat!("[PT] (no)? dia dos namorados ", in_year!(), "? {year}?"), Action::Yearly(2, 14)),
                (concat!("(no)? (dia de sao valentim) ", in_year!(), "? {year}?"), Action::Yearly(2, 14)),
                (concat!("(no)? dia de portugal ", in_year!(), "? {year}?"), Action::Yearly(6, 10)),
                (concat!("(no)? (dia de santo antonio) ", in_year!(), "? {year}?"), Action::Yearly(6, 13)),
                (concat!("(no)? (dia de sao joao) ", in_year!(), "? {year}?"), Action::Yearly(6, 24)),
                (concat!("[BR -] (no)? (dia da independencia|feriado da independencia) ", in_year!(), "? {year}?"), Action::Yearly(9, 7)),
                (concat!("[BR -] (no)? (dia das criancas) ", in_year!(), "? {year}?"), Action::Yearly(10, 12)),
                (concat!("[PT] (no)? (dia das criancas|dia da crianca) ", in_year!(), "? {year}?"), Action::Yearly(6, 1)),
                (concat!("(no)? (dia de nossa senhora aparecida|dia da padroeira) ", in_year!(), "? {year}?"), Action::Yearly(10, 12)),
                (concat!("(no)? (dia das bruxas|halloween) ", in_year!(), "? {year}?"), Action::Yearly(10, 31)),
                (concat!("(no)? (dia de todos os santos) ", in_year!(), "? {year}?"), Action::Yearly(11, 1)),
                (concat!("(no)? (dia de finados|finados|dia dos mortos) ", in_year!(), "? {year}?"), Action::Yearly(11, 2)),
                (concat!("(na|no)? (dia da)? proclamacao da republica ", in_year!(), "? {year}?"), Action::Yearly(11, 15)),
                (concat!("(no)? dia da consciencia negra ", in_year!(), "? {year}?"), Action::Yearly(11, 20)),
                (concat!("(no)? dia da restauracao da independencia ", in_year!(), "? {year}?"), Action::Yearly(12, 1)),
                (concat!("(no)? (dia da)? imaculada conceicao ", in_year!(), "? {year}?"), Action::Yearly(12, 8)),
                (concat!("(na|a|da|de|domingo de)? pascoa ", in_year!(), "? {year}?"), Action::Easter(0)),
                (concat!("(na|a)? segunda (feira)? de pascoa ", in_year!(), "? {year}?"), Action::Easter(1)),
                (concat!("(na|a)? sexta (feira)? (santa|da paixao) ", in_year!(), "? {year}?"), Action::Easter(-2)),
                (concat!("(na|a)? quinta (feira)? santa ", in_year!(), "? {year}?"), Action::Easter(-3)),
                (concat!("(no|o)? domingo de ramos ", in_year!(), "? {year}?"), Action::Easter(-7)),
                (concat!("(na|a)? quarta (feira)? de cinzas ", in_year!(), "? {year}?"), Action::Easter(-46)),
                (concat!("(na|a)? terca (feira)? (de carnaval|gorda) ", in_year!(), "? {year}?"), Action::Easter(-47)),
                (concat!("(na|a)? segunda (feira)? de carnaval ", in_year!(), "? {year}?"), Action::Easter(-48)),
                (concat!("(no|o)? domingo de carnaval ", in_year!(), "? {year}?"), Action::Easter(-49)),
                (concat!("(no|o)? sabado de carnaval ", in_year!(), "? {year}?"), Action::Easter(-50)),
                (concat!("(no|o|do)? (feriado de)? corpus christi ", in_year!(), "? {year}?"), Action::Easter(60)),
                ("(no|o)? sabado de aleluia", Action::Easter(-1)),
            ],
        ),
        // Times as they are said behind a word for at, and without a part of the day.
        (
            Category::Clock,
            &[
                ("{hour}", Action::Clock),
                ("{hour} (h|hs|hrs|hr|horas|hora)", Action::Clock),
                ("{hour} (h|hs|hrs|horas|hora) {digits} (m|min|mins|minutos)?", Action::Clock),
                ("{hour} (h|hs|horas|hora)? e {mm} (minutos|minuto|min)?", Action::Clock),
                ("{hour} : {digits} (: {digits})? (h|hs|hrs|hr|horas|hora|min)?", Action::Clock),
                ("{hour} . {digits} (h|hs|horas)", Action::Clock),
                ("{hour} {mm} $", Action::Clock),
                ("{hour} {mm}", Action::Nothing),
                ("{hour} (h|hs|horas|hora)? e (meia|meio)", Action::MinutesAfter(30)),
                ("{hour} (horas|hora)? e (um)? quarto", Action::MinutesAfter(15)),
                ("{hour} (horas|hora)? e tres quartos", Action::MinutesAfter(45)),
                ("{hour} menos (um)? quarto", Action::MinutesAfter(-15)),
                ("{hour} menos {minute}", Action::Nothing),
                ("{hour} (horas|hora)? e (pouco|tal|picos|poucos|alguma coisa|qualquer coisa|tanto|tantas)", Action::Nothing),
                ("{hour} e (nao|eu|vou|quero|para|pra|como|se)", Action::Nothing),
                ("{minute} (minutos|minuto|min|mins)? (para|pra|antes) (as|das|a|da) {hour} (h|horas|hora)?", Action::Minutes(-1)),
                ("{minute} (minutos|minuto|min|mins)? pras {hour} (h|horas|hora)?", Action::Minutes(-1)),
                ("(um)? quarto para (as|a) {hour}", Action::MinutesAfter(-15)),
                ("meia hora (depois|apos) (as|das) {hour}", Action::MinutesAfter(30)),
                ("meio dia", Action::At(12, 0)),
                ("meia noite", Action::At(0, 0)),
                ("meio dia e (meia|meio|trinta|30)", Action::At(12, 30)),
                ("meio dia e (um)? quarto", Action::At(12, 15)),
                ("meio dia e (quinze|15)", Action::At(12, 15)),
                ("meio dia e (dez|10)", Action::At(12, 10)),
                ("meio dia e (vinte|20)", Action::At(12, 20)),
                ("meio dia e (quarenta e cinco|45)", Action::At(12, 45)),
                ("meio dia e {minute}", Action::Nothing),
                ("meia noite e (meia|meio|trinta|30)", Action::At(0, 30)),
                ("meia noite e (quinze|15)", Action::At(0, 15)),
                ("meia noite e {minute}", Action::Nothing),
                ("(quinze|15) (minutos|min)? (para|pro|para o|pra|para a) meio dia", Action::At(11, 45)),
                ("(dez|10) (minutos|min)? (para|pro|para o|pra|para a) meio dia", Action::At(11, 50)),
                ("(quinze|15) (minutos|min)? (para|pra|para a) meia noite", Action::At(23, 45)),
                ("(dez|10) (minutos|min)? (para|pra|para a) meia noite", Action::At(23, 50)),
            ],
        ),
        (
            Category::Time,
            &[
                ("(quero|queria|prefiro|levar|pegar|vi|tenho|pagar|cancelar|com) às {clock}", Action::Same),
                // An article and a number: "as duas camisas".
                (
                    "(quero|queria|levo|levar|compro|comprar|todas|ambas|pego|pegar|escolho|escolher|prefiro|gostei|vi|tenho|recebi|devolver|trocar|cancelar|mande|manda|mandar|\
                      enviar|adoro|adorei|com|sao so|essas|juntar|pagar|parcelar|quitar) as {clock}",
                    Action::Nothing,
                ),
                ("às {clock} (em ponto|certas|certinho|cravadas)?", Action::Same),
                ("à {clock}", Action::Same),
                (
                    "(as|pelas|para as|pras|nas|la pelas|ali pelas) {clock} ($|em ponto|=hoje|=amanha|=por|=pode|=se|=mas|=ok|=e|=no|=na|=serve|=seria|=esta|=fica)",
                    Action::Same,
                ),
                ("(por volta das|cerca das|perto das|em torno das|la para as|la pras|@|por volta de) {clock}", Action::Same),
                ("(sao|eram) {clock} ($|em ponto|=agora)", Action::Same),
                (concat!(at!(), " {time}"), Action::Same),
                ("à {time}", Action::Same),
                ("(ao|pelo|la pelo|por volta do|perto do|para o|pro|no) meio dia (em ponto)?", Action::At(12, 0)),
                ("(a|pela|por volta da|perto da|para a|na) meia noite (em ponto)?", Action::At(0, 0)),
                ("meio dia", Action::At(12, 0)),
                ("meia noite", Action::At(0, 0)),
                ("(ao|pelo|para o|pro|por volta do)? meio dia e (meia|meio|trinta|30)", Action::At(12, 30)),
                ("(ao|pelo|para o|pro|por volta do)? meio dia e (quinze|15|quarto|um quarto)", Action::At(12, 15)),
                ("(a|pela|por volta da)? meia noite e (meia|meio|trinta|30)", Action::At(0, 30)),
                ("(a|pela|por volta da)? meia noite e (quinze|15|quarto|um quarto)", Action::At(0, 15)),
                ("(ao|pelo|para o|pro|por volta do)? meio dia e (dez|10)", Action::At(12, 10)),
                ("(ao|pelo|para o|pro|por volta do)? meio dia e (vinte|20)", Action::At(12, 20)),
                ("(ao|pelo|para o|pro|por volta do)? meio dia e (quarenta e cinco|45)", Action::At(12, 45)),
                ("(ao|pelo|para o|pro|a|por volta do)? (meio dia|meia noite) e {minute}", Action::Nothing),
                ("às {hour} . {digits} $", Action::Clock),
                // Without a word for at.
                ("{hour} (h|hs|hrs|horas|hora) {digits} (m|min|mins|minutos)?", Action::Clock),
                ("{hour} : {digits} (: {digits})? (h|hs|hrs|horas|hora|min)", Action::Clock),
                ("{hour} e meia (em ponto)?", Action::MinutesAfter(30)),
                ("{hour} e (um)? quarto $", Action::MinutesAfter(15)),
                ("{hour} menos (um)? quarto", Action::MinutesAfter(-15)),
                ("(um|dois|vinte e um|vinte e dois) e {mm} $", Action::Nothing),
                ("(custa|custam|custou|por|pago|paguei|sai|saiu|deu|valor|preco|foi|e|a) {hour} e {mm} $", Action::Nothing),
                ("{hour} e cinco $", Action::MinutesAfter(5)),
                ("{hour} e dez $", Action::MinutesAfter(10)),
                ("{hour} e quinze $", Action::MinutesAfter(15)),
                ("{hour} e vinte $", Action::MinutesAfter(20)),
                ("{hour} e vinte e cinco $", Action::MinutesAfter(25)),
                ("{hour} e trinta $", Action::MinutesAfter(30)),
                ("{hour} e trinta e cinco $", Action::MinutesAfter(35)),
                ("{hour} e quarenta $", Action::MinutesAfter(40)),
                ("{hour} e quarenta e cinco $", Action::MinutesAfter(45)),
                ("{hour} e cinquenta $", Action::MinutesAfter(50)),
                ("{hour} e cinquenta e cinco $", Action::MinutesAfter(55)),
                ("{hour} (horas|hora|h)? em ponto", Action::Clock),
                ("^ {hour} (h|hs|hrs|horas|hora) $", Action::Clock),
                ("13 (h|hs|hrs)", Action::At(13, 0)),
                ("14 (h|hs|hrs)", Action::At(14, 0)),
                ("15 (h|hs|hrs)", Action::At(15, 0)),
                ("16 (h|hs|hrs)", Action::At(16, 0)),
                ("17 (h|hs|hrs)", Action::At(17, 0)),
                ("18 (h|hs|hrs)", Action::At(18, 0)),
                ("19 (h|hs|hrs)", Action::At(19, 0)),
                ("20 (h|hs|hrs)", Action::At(20, 0)),
                ("21 (h|hs|hrs)", Action::At(21, 0)),
                ("22 (h|hs|hrs)", Action::At(22, 0)),
                ("23 (h|hs|hrs)", Action::At(23, 0)),
                ("{minute} (minutos|minuto|min|mins) (para|pra) (as|a|o) {hour} (h|horas|hora)?", Action::Minutes(-1)),
                ("(falta|faltam|as|às) {minute} (minutos|minuto|min|mins)? (para|pra) (as|a) {hour} (h|horas|hora)?", Action::Minutes(-1)),
                ("(falta|faltam|as|às) {minute} (minutos|minuto|min|mins)? pras {hour} (h|horas|hora)?", Action::Minutes(-1)),
                ("(cinco|5) (para|pra) (as|a) {hour}", Action::MinutesAfter(-5)),
                ("(dez|10) (para|pra) (as|a) {hour}", Action::MinutesAfter(-10)),
                ("(quinze|15|um quarto) (para|pra) (as|a) {hour}", Action::MinutesAfter(-15)),
                ("(vinte|20) (para|pra) (as|a) {hour}", Action::MinutesAfter(-20)),
                ("(vinte e cinco|25) (para|pra) (as|a) {hour}", Action::MinutesAfter(-25)),
                ("(cinco|5) pras {hour}", Action::MinutesAfter(-5)),
                ("(dez|10) pras {hour}", Action::MinutesAfter(-10)),
                ("(quinze|15|um quarto) pras {hour}", Action::MinutesAfter(-15)),
                ("(vinte|20) pras {hour}", Action::MinutesAfter(-20)),
                ("(para|pra|de|somos|seremos|com) {integer} (para|pra) (as|a) {hour}", Action::Nothing),
                ("{minute} (minutos|minuto|min|mins)? (depois|apos) (das|da|as) {hour} {part}?", Action::Minutes(1)),
                ("meia hora depois (das|da) {hour}", Action::MinutesAfter(30)),
                // With a part of the day.
                ("{hhmm} (am|a m|da manha)", Action::TimeIn(Part::Am)),
                ("{hhmm} (pm|p m|da tarde|da noite)", Action::TimeIn(Part::Pm)),
                ("{clock} (am|a m|da madrugada|de madrugada|na madrugada|pela madrugada|desta madrugada)", Action::TimeIn(Part::Am)),
                ("{clock} (,)? (da manha|de manha|pela manha|na parte da manha|desta manha)", Action::TimeIn(Part::Morning)),
                ("{clock} (pm|p m) (da tarde|da noite)?", Action::TimeIn(Part::Pm)),
                ("{clock} (,)? (da tarde|de tarde|à tarde|pela tarde|na parte da tarde|desta tarde)", Action::TimeIn(Part::Afternoon)),
                ("{clock} (,)? (da noite|de noite|à noite|pela noite|desta noite)", Action::TimeIn(Part::Night)),
                ("(de|pela|da|na|a) tarde (,)? (às|as|la pelas|por volta das|pelas) {clock}", Action::TimeIn(Part::Afternoon)),
                ("(de|pela|da|na) manha (,)? (às|as|la pelas|por volta das|pelas) {clock}", Action::TimeIn(Part::Morning)),
                ("(de|pela|da|na|a) noite (,)? (às|as|la pelas|por volta das|pelas) {clock}", Action::TimeIn(Part::Night)),
                ("(a|de|pela) tarde (,)? (às|as) {clock} (pm|p m)", Action::TimeIn(Part::Pm)),
                ("{clock} {part}", Action::Nothing),
            ],
        ),
        (
            Category::DateTime,
            &[
                (concat!("{date} (,)? ", at!(), " {clock}"), Action::Join),
                ("{date} (,)? à {clock}", Action::Join),
                (
                    "{date} (,)? (às|as|pelas|la pelas) {hour} e (pouco|tal|picos|poucos|alguma coisa|qualquer coisa|tanto|tantas)",
                    Action::Nothing,
                ),
                ("{date} (,)? (às|as|pelas) {clock} (ou|ou as) {clock}", Action::Nothing),
                (concat!("{wd} (,)? ", at!(), "? {time}"), Action::Join),
                (concat!("(na|no|para|pra|esta|nesta)? {wd} (,)? ", at!(), "? {time}"), Action::Join),
                (
                    "{date} (,)? (de|da|pela|na|parte da|na parte da|logo de)? manha (,)? (às|as|pelas|la pelas|por volta das)? {clock}",
                    Action::JoinPart(Part::Morning),
                ),
                (
                    "{date} (,)? (à|a|de|da|pela|na|na parte da)? tarde (,)? (às|as|pelas|la pelas|por volta das)? {clock}",
                    Action::JoinPart(Part::Afternoon),
                ),
                (
                    "{date} (,)? (à|a|de|da|pela|na)? noite (,)? (às|as|pelas|la pelas|por volta das)? {clock}",
                    Action::JoinPart(Part::Night),
                ),
                ("{date} (,)? (de|na) madrugada (,)? (às|as|pelas|la pelas|por volta das)? {clock}", Action::JoinPart(Part::Am)),
                ("{date} , {time}", Action::Join),
                ("{date} (,)? (12|doze) (h|hs|hrs)", Action::Nothing),
                ("{date} (,)? {hour} (h|hs|hrs) ($|=no|=na|=com|=em|=por)", Action::JoinPart(Part::Am)),
                ("{time} (de|do|da|no|na|em|para|pra|,) {date}", Action::Join),
                ("(às|as|pelas|por volta das|la pelas) {clock} (de|do|da|no|na|em|para|pra|,)? {date}", Action::Join),
                (concat!("{time} (de|da|na|,) {wd} ", behind_weekday!()), Action::Join),
                (concat!("(às|as|pelas|por volta das|la pelas) {clock} (de|da|na|,) {wd} ", behind_weekday!()), Action::Join),
                ("{time} (de|do|da|no|na|,)? {date} (de|da|pela) manha", Action::JoinPart(Part::Morning)),
                ("{time} (de|do|da|no|na|,)? {date} (à|a|de|da|pela) tarde", Action::JoinPart(Part::Afternoon)),
                ("{time} (de|do|da|no|na|,)? {date} (à|a|de|da|pela) noite", Action::JoinPart(Part::Night)),
                ("(às|as) {clock} (de|do|da|no|na|,)? {date} (de|da|pela) manha", Action::JoinPart(Part::Morning)),
                ("(às|as) {clock} (de|do|da|no|na|,)? {date} (à|a|de|da|pela) tarde", Action::JoinPart(Part::Afternoon)),
                ("(às|as) {clock} (de|do|da|no|na|,)? {date} (à|a|de|da|pela) noite", Action::JoinPart(Part::Night)),
                (
                    "(esta noite|nesta noite|hoje a noite|hoje de noite|essa noite) (,)? (às|as|pelas|la pelas|por volta das)? {clock}",
                    Action::JoinDays(0, Some(Part::Night)),
                ),
                (
                    "(esta manha|nesta manha|hoje de manha|hoje pela manha|essa manha) (,)? (às|as|pelas|la pelas|por volta das)? {clock}",
                    Action::JoinDays(0, Some(Part::Morning)),
                ),
                (
                    "(esta tarde|nesta tarde|hoje a tarde|hoje de tarde|essa tarde) (,)? (às|as|pelas|la pelas|por volta das)? {clock}",
                    Action::JoinDays(0, Some(Part::Afternoon)),
                ),
                ("{time} (desta|nesta|esta|hoje a|de hoje a) noite", Action::JoinDays(0, Some(Part::Night))),
                ("{time} (desta|nesta|esta|hoje a|de hoje a) tarde", Action::JoinDays(0, Some(Part::Afternoon))),
                ("{time} (desta|nesta|esta|hoje de) manha", Action::JoinDays(0, Some(Part::Morning))),
                ("{time} (desta|nesta|esta) madrugada", Action::JoinDays(0, Some(Part::Am))),
                ("(às|as) {clock} (desta|nesta|esta|hoje a|de hoje a) noite", Action::JoinDays(0, Some(Part::Night))),
                ("(às|as) {clock} (desta|nesta|esta|hoje a|de hoje a) tarde", Action::JoinDays(0, Some(Part::Afternoon))),
                ("(ate o|no|ao|o)? (fim|final) do dia (de hoje)? $", Action::EndOfDay),
                ("(no|ao|o)? (fim|final) do dia (de|do|da) {date}", Action::EndOfDay),
                ("(no|ao|o)? (fim|final) (do|da|de) {date}", Action::EndOfDay),
                ("agora mesmo|agorinha|neste exato momento|neste momento|imediatamente|logo agora|agora ja|ja agora", Action::Now),
                ("({wd}|ate|por|desde|so) agora", Action::Nothing),
                ("^ agora $", Action::Now),
                (
                    "(voltar|voltarei|volto|ir|vir|quero|queria|vou|posso|pode ser|podem|comecar|sair|saio|chegar|marcar|preciso) agora $",
                    Action::Now,
                ),
                ("{hour} (horas|hora|h|hs) ({date}|{year})", Action::Nothing),
                ("(daqui a|daqui|dentro de|em|para daqui a) {duration}", Action::ShiftNow(1)),
                ("{duration} a partir de agora", Action::ShiftNow(1)),
                ("{duration} atras", Action::ShiftNow(-1)),
                ("(há|ha|faz) {duration} (atras)?", Action::ShiftNow(-1)),
                ("(há|ha|faz) {duration} que", Action::Nothing),
                ("{date} (,)? (depois|antes|a partir|ate|desde) (das|as|do|da) {clock}", Action::Nothing),
                ("{date} (,)? (das|entre as|entre|de) {clock} (as|e|e as|a|ate as) {clock}", Action::Nothing),
            ],
        ),
        (
            Category::DateRange,
            &[
                ("(em|durante)? {month} (de|do|do ano de|do ano|,|deste|desse)? {year}", Action::MonthPeriod),
                ("(no|em|o)? {year} (,)? em {month}", Action::MonthPeriod),
                ("(em)? {month} de {short}", Action::MonthPeriod),
                ("em {month} {short}", Action::Nothing),
                ("depois de amanha", Action::Nothing),
                ("(de|da)? segunda (feira)? (a|ate) (sexta|sabado|domingo|sexta feira)", Action::Nothing),
                (
                    "(de|do dia|entre|entre os dias|dos dias|entre o dia) {day} (a|ao|ate|e|e o|ate o|-) (dia|o dia)? {day} de {month} (de|,|do)? {year}?",
                    Action::DaysOfMonth,
                ),
                ("(dia)? {day} (a|ao|ate|ate o|-) (dia|o dia)? {day} de {month} (de|,|do)? {year}?", Action::DaysOfMonth),
                ("(de|do|da|desde|desde o|do dia|de dia)? {date} (a|ao|ate|ate a|ate o|à) {date}", Action::FromTo),
                ("entre (o|a)? {date} e (o|a)? {date}", Action::FromTo),
                ("(de|da|desde|desde a) {wd} (a|ate|ate a|à) {wd} ($|=de|=na|=no|=para|=em|=as|=com)", Action::FromTo),
                ("(de|da|desde|desde a)? {date} (a|ate|ate a|à) {wd} ($|=de|=na|=no|=para|=em|=as|=com)", Action::FromTo),
                ("(de|da|desde|desde a) {wd} (a|ate|ate a|ao) {date}", Action::FromTo),
                ("entre {wd} e {wd} ($|=de|=na|=no|=para|=em|=as|=com)", Action::FromTo),
                (concat!("(ate|ate a|antes de|antes da) {wd} ", behind_weekday!()), Action::Until),
                (concat!("(desde|desde a|a partir de|a partir da|depois de|depois da|apos) {wd} ", behind_weekday!()), Action::From),
                ("{day} (e|ou|,) {day} de {month} (de|,|do)? {year}?", Action::Nothing),
                ("(dias)? {day} (e|ou|,) (o|dia)? {day} de {month} (de|,|do)? {year}?", Action::Nothing),
                ("(de|do dia|dos dias|entre os dias|dias) {day} (a|ao|ate|e) {day} $", Action::Nothing),
                ("({date}|{wd}) ou (na|no|o|a|em|para|dia|no dia)? ({date}|{wd}|{day})", Action::Nothing),
                ("(de|entre|entre as|entre os) {number} (a|e|ate) {number}", Action::Nothing),
                ("{mm} {mm}", Action::Nothing),
                ("(desde|a partir de|a partir do|a partir da|depois de|depois do|depois da|apos|apos o|a contar de) {date}", Action::From),
                ("(desde|a partir de|ate|antes de|depois de|apos|ate o fim de|ate o final de) {month} (de|do)? {year}?", Action::Nothing),
                ("{duration} (antes|depois) (de|do|da)? {date}", Action::Nothing),
                // Days, and no periods.
                (concat!("{day} (de)? {month} ", in_year!(), "? (ano de)? {year}"), Action::Nothing),
                (
                    "(dia)? {day} (do|de)? (mes que vem|proximo mes|mes passado|ultimo mes|mes seguinte|prox mes|deste mes|desse mes)",
                    Action::Nothing,
                ),
                (
                    "(comeco|inicio|fim|final|meados|metade|meio) (do|da) (mes que vem|proximo mes|mes passado|ano que vem|proximo ano|ano passado|semana que vem|proxima semana)",
                    Action::Nothing,
                ),
                (
                    "{wd} (da|na|de)? (semana que vem|proxima semana|prox semana|semana passada|desta semana|dessa semana|esta semana|ultima semana)",
                    Action::Nothing,
                ),
                ("(semana que vem|proxima semana|esta semana|semana passada) (,)? (na|no)? {wd}", Action::Nothing),
                ("(de)? {date} em diante", Action::From),
                ("(ate|ate o|ate ao|ate a|antes de|antes do|antes da|no maximo ate|o mais tardar) {date}", Action::Until),
                ("(na|a|pra|para a|da|durante a)? (semana que vem|proxima semana|prox semana)", Action::Period(1, Unit::Week)),
                ("(na|a|para|durante)? (esta semana|nesta semana|essa semana|nessa semana|desta semana)", Action::Period(0, Unit::Week)),
                ("(na|a|da)? (semana passada|ultima semana)", Action::Period(-1, Unit::Week)),
                ("(no|este|neste|esse|nesse|ao|o|para o|pro|deste)? (fim|final) de semana", Action::Period(0, Unit::Weekend)),
                ("(no|o|este|esse|para o|pro)? proximo (fim|final) de semana", Action::Period(1, Unit::Weekend)),
                ("(no|o|para o|pro)? (fim|final) de semana que vem", Action::Period(1, Unit::Weekend)),
                ("(no|o)? (fim|final) de semana passado", Action::Period(-1, Unit::Weekend)),
                ("(no|o)? ultimo (fim|final) de semana", Action::Period(-1, Unit::Weekend)),
                ("(durante|para|no)? (este mes|neste mes|esse mes|nesse mes|deste mes)", Action::Period(0, Unit::Month)),
                ("(no|o|do|pro|para o)? (mes que vem|proximo mes|prox mes)", Action::Period(1, Unit::Month)),
                ("(no|o|do)? (mes passado|ultimo mes)", Action::Period(-1, Unit::Month)),
                ("(este ano|neste ano|deste ano|esse ano)", Action::Period(0, Unit::Year)),
                ("(no|o|do|pro|para o)? (ano que vem|proximo ano)", Action::Period(1, Unit::Year)),
                ("(no|o|do)? (ano passado|ultimo ano)", Action::Period(-1, Unit::Year)),
                (concat!("(em|durante|no mes de|mes de)? {month} ", in_year!(), " {year}"), Action::MonthPeriod),
                ("(em)? {month} {year}", Action::MonthPeriod),
                ("(em|durante|no mes de|mes de|todo o mes de) {month}", Action::MonthPeriod),
                ("(meados|inicio|comeco|final|fim|metade) de {month} (de)? {year}?", Action::Nothing),
                ("(em|durante|no ano de) {year}", Action::YearPeriod),
                // Numbers that are none.
                ("(varias|algumas|muitas|umas|em|as|por|com|nas|das|de|ha|tem) (duzias|dezenas|centenas|milhoes|bilhoes)", Action::Nothing),
                ("^ (duzias|dezenas|centenas|milhares|milhoes|bilhoes) de", Action::Nothing),
                (
                    "(havia|houve|sao|existem|foram|vi|recebi|tenho|tinha|gastei|perdi|ja|entre|dentre|mais|quantas|quantos) (duzias|dezenas|centenas|milhoes|bilhoes)",
                    Action::Nothing,
                ),
                (
                    "(mil|milhoes|um milhao|um milhao de) (desculpas|perdoes|vezes|coisas|maravilhas|beijos|abracos|gracas|obrigados|obrigadas)",
                    Action::Nothing,
                ),
                ("(a|uns|umas|as) mil", Action::Nothing),
                ("(um|uma|tres|1|3) quartos", Action::Nothing),
                ("um quarto", Action::Nothing),
                ("{number} virgula (mil|milhoes)", Action::Nothing),
                ("({digits}|1|2|3|4|5|6|7|8|9) (sobre|em cada|de cada) {number}", Action::Nothing),
                ("{number} com (um|dois|tres|quatro) (quarto|quartos|terco|tercos|quinto|quintos|decimos)", Action::Nothing),
                (
                    "{number} (quilo|quilos|kg|litro|litros|metro|metros|pizza|pizzas|vez|vezes|xicara|xicaras|porcao|porcoes|ponto|pontos|diaria|diarias|real|reais|euro|euros|dolar|dolares) e (meio|meia)",
                    Action::Nothing,
                ),
                // Of two periods none is meant alone.
                (
                    "({range}|{month}|em {month}) (,)? (ou|ou entao|e|&|/|,) (,)? (talvez|quem sabe|ate|mesmo|melhor|tambem)? (em|no|na|o|a|para|para o|para a|pra)? (em|no|na|o|a|para|para o|para a|pra)? ({range}|{month}) {year}?",
                    Action::Several,
                ),
                ("{month} , {month} (,)? (ou|ou entao|e|&) (em|no|na|o|a|para|para o|para a|pra)? {month} {year}?", Action::Several),
                (
                    "({range}|{date}|{datetime}) (,)? (ou|ou entao) (,)? (talvez|quem sabe|ate|mesmo|melhor|tambem)? (em|no|na|o|a|para|para o|para a|pra)? ({range}|{date}|{datetime}|{year}|em {month}|{wd})",
                    Action::Several,
                ),
                ("{date} (,)? (e|&) (em|no|na|o|a|para|para o|para a|pra)? {date}", Action::Several),
                (
                    "{date} , (em|no|na|o|a|para|para o|para a|pra)? {date} (,)? (ou|ou entao|e|&) (em|no|na|o|a|para|para o|para a|pra)? ({date}|{wd})",
                    Action::Several,
                ),
                ("(em|no ano de) {year} (ou|ou entao|e|&|a|ao|ate|ate a|ate o|ate ao|a|-|/|,) (em|no ano de)? {year}", Action::Nothing),
                ("({range}|{month}|{month} {year}) - ({range}|{month}) {year}?", Action::Nothing),
                ("{month} ({range}|{month})", Action::Nothing),
                (
                    "({range}|{month}|{date}|em {month}) (,)? (a|ao|ate|ate a|ate o|ate ao|a|nao|desculpa|alias|melhor|digo) (,)? ({range}|{month}|em {month}) {year}?",
                    Action::Nothing,
                ),
                (
                    "({range}|{datetime}) (,)? (a|ao|ate|ate a|ate o|ate ao|a|nao|desculpa|alias|melhor|digo) (,)? ({date}|{datetime}|{year})",
                    Action::Nothing,
                ),
                // A part of a period, or what has its name.
                (
                    "(esta semana|nesta semana|essa semana|este mes|neste mes|este ano|este fim de semana) (ou|e) (na|no|a|o)? (proxima|proximo|seguinte|que vem|outra|outro)",
                    Action::Several,
                ),
                ("{range} (,)? (de)? {wd} (a|-|ate) {wd}", Action::Nothing),
                ("{range} (,)? ({range}|em {month})", Action::Nothing),
                ("(cada|todo|toda|todos os|todas as) ({unit}|{wd}|anos|meses|semanas) (,)? {range}", Action::Nothing),
                (
                    "(a|o|as|os|na|no|nas|nos)? ({ordinal}|primeira|primeiras|primeiros|ultima|ultimo|ultimas|ultimos|penultima) ({number})? (semana|semanas|fim de semana|dia|dias|metade|quinzena) (de|do|da|em) ({range}|{month}) (de|do)? {year}?",
                    Action::Nothing,
                ),
                ("(no|o|neste)? (fim|final) de semana (do|de|da|depois de|antes de) {date}", Action::Nothing),
                (
                    "(fatura|conta|orcamento|numero|menu|boletim|relatorio|catalogo|revista|calendario|edicao|pedido|aluguel|renda|modelo|programa|cardapio|boleto|ementa) (de|do|da|para)? (a|o)? ({range}|{month} {year}|{month} de {year})",
                    Action::Nothing,
                ),
                ("{range} (,)? (no|na|em)? (primavera|verao|outono|inverno|trimestre)", Action::Nothing),
                ("(primavera|verao|outono|inverno|trimestre) (de|do|da)? {range}", Action::Nothing),
                ("(ano que vem|proximo ano|ano passado) (,)? (no|na|em|para o|a)? {date}", Action::Nothing),
            ],
        ),
        (
            Category::TimeRange,
            &[
                (
                    concat!("(das|da|desde as|entre as|entre a|do|desde o|a partir das) {clock} {part}? ", to_time!(), " {clock} {part}?"),
                    Action::FromTo,
                ),
                ("(de|entre) {hour} (a|e|ate) {hour} (horas|hora|h|hs)? $", Action::Nothing),
                ("(de|entre) {clock} {part}? (a|e|ate|as) {clock} $", Action::FromTo),
                ("(de|entre) {clock} {part}? (a|e|ate|as) {clock} {part}", Action::FromTo),
                ("(de|entre) {time} (a|e|ate|as) {time}", Action::FromTo),
                ("(de|entre) {hour} (h|hs|horas) (a|e|ate|as|às) {hour} (h|hs|horas)", Action::FromTo),
                ("{hour} (h|hs) (às|as|ate as) {clock} {part}?", Action::FromTo),
                ("{hour} (h|hs) (às|as|a|ate as|-) {hour} (h|hs)", Action::FromTo),
                ("{hour} (h|hs|horas) (às|as|a|ate as) {clock} {part}?", Action::Nothing),
                ("(entre o|do|desde o|entre)? meio dia (e as|e a|as|e|ate as) {clock} {part}?", Action::Nothing),
                ("(do|entre o) {clock} (e as|e a|as|e|ate as|a|e o|ao|ate o) {clock} {part}?", Action::FromTo),
                (concat!("{time} ", "(as|a|ate|ate as)", " {clock} {part}?"), Action::FromTo),
                ("das {clock} {part}? (ao|ate o) {clock}", Action::FromTo),
                ("{time} ao meio dia", Action::Nothing),
                ("(às|as|das|pelas) {clock} (ou|ou as|ou entao as) {clock} {part}?", Action::Nothing),
                (
                    "(a partir das|a partir da|a partir do|depois das|depois da|depois do|apos as|apos a|apos o|desde as|desde a|desde o) {time}",
                    Action::From,
                ),
                (
                    "(a partir das|a partir da|a partir do|depois das|depois da|depois do|apos as|apos a|apos o|desde as|desde a|desde o) {clock}",
                    Action::From,
                ),
                ("(ate|antes de) {time}", Action::Until),
                ("(a partir de|depois de|apos|desde) {time}", Action::From),
                (
                    "(antes das|antes da|antes do|ate as|ate a|ate o|ate ao|no maximo as|no maximo ate as|o mais tardar as) {time}",
                    Action::Until,
                ),
                ("(antes das|antes da|antes do|ate as|ate a|ate o|no maximo as|no maximo ate as|o mais tardar as) {clock}", Action::Until),
                ("(às|as) {clock} (em diante|ou mais tarde|ou antes|ou depois)", Action::Nothing),
                ("(das|da) {clock} {part}? em diante", Action::From),
                (
                    "(das|de|entre as|entre)? {hour} (h|horas)? (a|ao|ate|ate a|ate o|ate ao|a|-) {hour} (h|horas)? (,)? (ou|ou entao|e|&|,) (das|de|entre as|entre)? {timerange}",
                    Action::Several,
                ),
                (
                    "{timerange} (,)? (ou|ou entao|e|&|,) (talvez|quem sabe|ate|mesmo|melhor|tambem)? (em|no|na|o|a|para|para o|para a|pra)? ({timerange}|{date}|{date} {timerange}|{wd} {timerange})",
                    Action::Several,
                ),
            ],
        ),
        (
            Category::DateTimeRange,
            &[
                ("(de|desde)? {datetime} (a|ate|ate as|as) {datetime}", Action::FromTo),
                ("(de|das)? {datetime} (as|a|ate as) {time}", Action::FromTo),
                ("entre {datetime} e {datetime}", Action::FromTo),
                ("(depois de|a partir de|apos|desde) {datetime}", Action::From),
                ("(antes de|ate|ate as) {datetime}", Action::Until),
                ("(de|das|entre|entre as) {clock} {part}? (a|as|e|e as|ate|ate as) {datetime}", Action::Nothing),
                (
                    concat!("(das|da|de|entre as|entre) {clock} {part}? ", to_time!(), " {clock} {part}? (de|do|da|no|na|,)? {date}"),
                    Action::Nothing,
                ),
                // Durations that look like times.
                (
                    "(dura|durou|demora|demorou|leva|levou|faltam|sao|durante|por|ha|faz|em|dentro de|daqui a|mais de|menos de|cerca de|umas|uns|quase) (cerca de|mais de|menos de|umas|uns|quase|ate)? {hour} (h|hs|hrs|horas|hora) {digits}?",
                    Action::Nothing,
                ),
                (
                    "(dura|durou|demora|demorou|leva|levou|durante|por|ha|faz|em|mais de|menos de|cerca de) (cerca de|mais de|menos de|umas|uns|quase|ate)? {hour} (h|hs|hrs|horas|hora)? e (meia|meio)",
                    Action::Nothing,
                ),
                (
                    "{datetimerange} (,)? (ou|ou entao|e|&|,) (talvez|quem sabe|ate|mesmo|melhor|tambem)? (em|no|na|o|a|para|para o|para a|pra)? ({datetimerange}|{timerange}|{datetime}|{date})",
                    Action::Several,
                ),
                (
                    "{datetime} (,)? (ou|ou entao) (talvez|quem sabe|ate|mesmo|melhor|tambem)? (em|no|na|o|a|para|para o|para a|pra)? ({datetime}|{time}|{date}|{hour})",
                    Action::Several,
                ),
                ("{datetime} (,)? (e|&) (em|no|na|o|a|para|para o|para a|pra)? {datetime}", Action::Several),
            ],
        ),
        (
            Category::ValueRange,
            &[
                (
                    "(de|dos) {value} (a|para|aos) {value}",
                    Action::NothingIf(
                        "aumentou|aumentar|aumente|subiu|subir|passou|passar|mudou|mudar|mude|caiu|cair|baixou|baixar|reduzir|alterar|altere|trocar|troque",
                    ),
                ),
                (
                    "{value} a {value}",
                    Action::NothingIf(
                        "enviar|envie|envia|transferir|transfira|mandar|mande|manda|some|somar|multiplique|divida|numero|ganhamos|perdemos|ganhou|perdeu|venceu|empatou|placar|terminou|jogo|resultado",
                    ),
                ),
                ("(de|desde)? {value} (a|ate) {value}", Action::FromTo),
                ("dos {value} aos {value}", Action::FromTo),
                ("de {value} - {value}", Action::FromTo),
                ("entre (os)? {value} (e|a|-) (os)? {value}", Action::FromTo),
                ("entre {value} e {value} e {value}", Action::Nothing),
                ("(mais|menos) (da|de|do que a) metade", Action::Nothing),
                (
                    "(pelo menos|ao menos|no minimo|minimo|minimo de|um minimo de|nao menos de|nao menos que|nao menos do que|nada menos que) {value}",
                    Action::From,
                ),
                (
                    "(mais de|mais que|mais do que|acima de|acima dos|superior a|superiores a|maior que|maior do que|maiores que) {value}",
                    Action::From,
                ),
                ("{value} (ou mais|e mais|para cima|pra cima|em diante|no minimo|pelo menos|minimo)", Action::From),
                ("(de|dos|a partir de) {value} (para cima|pra cima|em diante)", Action::From),
                ("(a partir de|desde) {money}", Action::From),
                (
                    "a partir de {value} (=pessoas|=convidados|=adultos|=criancas|=participantes|=funcionarios|=usuarios|=utilizadores|=lugares|=cadeiras|=mesas|=quartos|=ingressos|=bilhetes|=pecas|=unidades|=copias|=caixas|=garrafas|=paginas|=palavras|=vezes|=kg|=quilos|=gramas|=km|=quilometros|=metros|=litros|=cm|=mm|=gb|=mb|=carros|=jogadores|=membros|=pedidos|=alunos)",
                    Action::From,
                ),
                (
                    "(no maximo|maximo|maximo de|um maximo de|max|ate|nao mais de|nao mais que|nao mais do que|quando muito) (os)? {value}",
                    Action::Until,
                ),
                (
                    "(menos de|menos que|menos do que|abaixo de|abaixo dos|inferior a|inferiores a|menor que|menor do que|menores que) {value}",
                    Action::Until,
                ),
                ("{value} (ou menos|no maximo|maximo|max|para baixo|pra baixo|quando muito)", Action::Until),
                ("{valuerange} (,)? (e|mas) {valuerange}", Action::FromTo),
                ("{valuerange} (,)? ou {valuerange}", Action::Nothing),
            ],
        ),
        (Category::AmountRange, &[("{number} sobre {number} (por cento|por cem|%)", Action::Nothing)]),
        (
            Category::Repetition,
            &[
                ("(toda|todo|cada|todas as|todos os|a cada|em toda|em cada) (santo|santa)? ({wd}|{date}|{unit})", Action::Nothing),
                ("(toda|todo|todas as|todos os|cada|a cada|aos|nos|nas) {datetime}", Action::Nothing),
                (
                    "(todas as|todos os|aos|às|as|nas|nos|em|de)? (segundas|tercas|quartas|quintas|sextas|sabados|domingos) (feiras)?",
                    Action::Nothing,
                ),
                ("(cada|a cada|todas as|todos os) ({duration}|{unit}|{integer} {unit})", Action::Nothing),
                ("(todo|cada|todos os) dia {day}", Action::Nothing),
                ("(todo|no|o)? dia {day} (de cada|de todo|de todos os|dos) (mes|meses)", Action::Nothing),
                ("de {number} em {number} {unit}", Action::Nothing),
                ("de {unit} em {unit}", Action::Nothing),
                ("{number} {unit} (por|ao|a) {unit}", Action::Nothing),
                ("{number} (a|ou|e|ate|-) {number} {unit}", Action::Nothing),
                ("{number} (dia|dias) (util|uteis|letivos)", Action::Nothing),
                ("{number} (vez|vezes) (por|ao|na|em|a cada) ({unit}|{duration})", Action::Nothing),
                ("diariamente|semanalmente|mensalmente|anualmente|diario|diaria|semanal|mensal|anual", Action::Nothing),
                // What looks like a duration.
                ("(as|das|pelas|para as|la pelas) {number} (horas|hora|h|hs)", Action::Nothing),
                ("{hour} (horas|hora|h|hs) {part}", Action::Nothing),
                (
                    "(so|espera|espere|aguarde|aguarda|me da|me de|da|um|e so) (um|1|uns|dois|2|cinco|5)? (minuto|minutos|segundo|segundos|minutinho|minutinhos)",
                    Action::Nothing,
                ),
                ("um (minuto|segundo) (,)? por favor", Action::Nothing),
                ("(um|algum) (belo)? dia (desses|destes|eu|vou|quem sabe|talvez)", Action::Nothing),
                ("{number} anos de idade", Action::Nothing),
                (
                    "(tenho|tem|fez|fiz|completei|completou|crianca de|criancas de|filho de|filha de|bebe de|idade de|menino de|menina de|mae de|pai de) {number} (anos|meses)",
                    Action::Nothing,
                ),
                ("(maior|maiores|menor|menores) de {number} anos", Action::Nothing),
                // One of two times, each of them from one to another.
                (
                    "({datetimerange}|{timerange}|{date} {timerange}) (,)? (ou|ou entao) (em|no|na|o|a|para|para o|para a|pra)? ({datetimerange}|{date} {timerange}|{date}|{wd} {timerange}|{wd})",
                    Action::Several,
                ),
            ],
        ),
    ],
    currencies: &[
        ("~real|reais|de reais|real brasileiro|reais brasileiros|de reais brasileiros", "BRL"),
        ("dolar|dolares|de dolares|doleta|doletas", "$"),
        (
            "dolar americano|dolares americanos|de dolares americanos|dolares dos estados unidos|dolar estadunidense|dolares estadunidenses",
            "USD",
        ),
        ("dolar canadense|dolares canadenses|de dolares canadenses|dolar canadiano|dolares canadianos|de dolares canadianos", "CAD"),
        ("dolar australiano|dolares australianos|de dolares australianos", "AUD"),
        ("dolares neozelandeses|dolar neozelandes|de dolares neozelandeses", "NZD"),
        ("dolar de hong kong|dolares de hong kong|de dolares de hong kong", "HKD"),
        ("dolar de singapura|dolares de singapura", "SGD"),
        ("euro|euros|de euros", "EUR"),
        ("~libra|~libras|de libras|libra esterlina|libras esterlinas|de libras esterlinas|libras inglesas", "GBP"),
        ("iene|ienes|de ienes|yen|yens|yenes", "JPY"),
        ("franco suico|francos suicos|de francos suicos|~franco|~francos|de francos", "CHF"),
        ("yuan|yuans|de yuans|iuane|iuanes|yuan chines|yuans chineses|renminbi", "CNY"),
        ("rupia|rupias|de rupias|rupia indiana|rupias indianas", "INR"),
        ("peso mexicano|pesos mexicanos|de pesos mexicanos", "MXN"),
        ("peso argentino|pesos argentinos|de pesos argentinos", "ARS"),
        ("peso chileno|pesos chilenos|de pesos chilenos", "CLP"),
        ("peso colombiano|pesos colombianos|de pesos colombianos", "COP"),
        ("peso uruguaio|pesos uruguaios|de pesos uruguaios", "UYU"),
        ("guarani paraguaio|guaranis|de guaranis", "PYG"),
        ("sol peruano|soles peruanos|soles", "PEN"),
        ("kwanza|kwanzas|de kwanzas", "AOA"),
        ("metical|meticais|de meticais", "MZN"),
        ("escudo cabo verdiano|escudos cabo verdianos", "CVE"),
        ("rublo|rublos|de rublos", "RUB"),
        ("lira turca|liras turcas|de liras turcas", "TRY"),
        ("coroa sueca|coroas suecas|de coroas suecas", "SEK"),
        ("coroa norueguesa|coroas norueguesas|de coroas norueguesas", "NOK"),
        ("coroa dinamarquesa|coroas dinamarquesas|de coroas dinamarquesas", "DKK"),
        ("zloty|zlotys", "PLN"),
        ("rand|rands|de rands", "ZAR"),
        ("won sul coreano|wons", "KRW"),
        ("shekel|shekels", "ILS"),
        ("dirham|dirhams", "AED"),
    ],
    cents: &[
        ("centavos|centavo", "BRL USD EUR MXN ARS CAD AUD"),
        ("centimos|centimo|cents|cent", "EUR CHF USD AUD CAD"),
        ("pence|penny", "GBP"),
    ],
    lead_ins: "o|a|as|no|na|em",
    joined_words: &[],
    range_words: RangeWords {
        counted: "pessoas|convidados|adultos|criancas|participantes|funcionarios|usuarios|utilizadores|lugares|cadeiras|mesas|quartos|ingressos|bilhetes|pecas|unidades|copias|caixas|garrafas|paginas|palavras|vezes|kg|quilos|gramas|km|quilometros|metros|litros|cm|mm|gb|mb|carros|jogadores|membros|pedidos|alunos",
        denials: "nao|nem|nunca|jamais|sem|nenhum|nenhuma|exceto|tampouco",
        but: "mas|porem",
        hours: "trabalho|trabalhamos|aberto|abre|livre|vemos|reuniao|consulta|disponivel|horario|turno|fechado",
        questions: "e mais de|e menos de|e entre|e acima|esta entre|sao mais|sao menos|sao entre|por que|porque|quanto|quanta|quantos|quantas|quando|quem|onde|o que e|o que acontece|devo|tenho que|custa|sera que|fica|e verdade",
    },
    negations: "nao posso|nao podemos|nao quero|nao queremos|nao vou|nao vamos|nao venho|nao estarei|nao estou|nao e|nao era|nao da|nao me|nao nos|nunca|impossivel",
    mock_negations: "por que nao|nao esqueca|nao so",
    vetoes: &[
        Veto {
            kinds: &[Kind::NumberRange, Kind::CurrencyRange],
            before: "nao|exceto|escala de|escala|pagina|paginas|capitulo|capitulos|linha|linhas|quarto|sala|canal|nivel|niveis|numero|temporada|versao|pergunta|perguntas|ganhamos|perdemos|onibus|nota|notas",
            behind: "estrelas|pontos|horas|hs|escala|da manha|da tarde|da noite",
        },
        Veto { kinds: &[Kind::NumberRange], before: "as|das|aberto|abertos|trabalho", behind: "" },
        Veto {
            kinds: &[Kind::Date, Kind::DateTime, Kind::Time],
            before: "nao|nao pode ser|nao pode|nao quero|nao posso|nao podemos|nao consigo|nao da|nao da para|nao da pra|nao vou|nao vai ser|nao e|nao foi|nao era|nao fica|nao marque|\
                     nao marca|nao para|nao pra|nao estou|nao estarei|nao venho|nao serve|nao precisa ser|nao precisa|nao tem que ser|nao tem de ser|nao no|nao na|nao em|nao de|nao as|nem|nem no|nem na|exceto|exceto no|exceto na|menos|menos no|menos na|menos as|salvo|tirando|sem ser|\
                     sem ser no|sem ser na|nunca|nunca no|nunca na|fora|qualquer dia menos",
            behind: "nao|nem pensar|jamais",
        },
        Veto {
            kinds: &[Kind::Number],
            before: "nao|nao quero|nao sao|nao e|nao foi|nao foram|nao tenho|mais de|menos de|acima de|abaixo de|mais que|menos que",
            behind: "nao|k|mi|bi|e meia|e pouco|e poucos|e tantos|e tantas",
        },
        Veto {
            kinds: &[Kind::Currency],
            before: "nao|nao sao|nao e|nao foi|nao foram|nao quero|nao tenho",
            behind: "nao|mi|bi|e meio|e meia|e pouco|e poucos|e tantos",
        },
        Veto { kinds: &[Kind::Duration], before: "nao|mais de|menos de|mais que|menos que", behind: "e pouco|e tal" },
        Veto {
            kinds: &[Kind::Ordinal],
            before: "um|num|cada|em um|por um|e|ou|exceto|menos|nem|ate|desde|de|para|pra|toda|proxima|ultima|esta|essa|nesta|nessa",
            behind: "nao|feira|feiras|que vem|passada|salario|o contrato|o regulamento|as|a tarde|a noite|de manha|de tarde|de noite|quartos|quarto|banheiro",
        },
        // From then on to what is not read.
        Veto { kinds: &[Kind::DateRange, Kind::TimeRange, Kind::DateTimeRange], before: "", behind: "ate" },
        // A part of a period, about it, or one of several.
        Veto {
            kinds: &[Kind::DateRange],
            before: "longo|longo de|decorrer|decorrer de|correr|curso|antes|depois|a partir|momento|momento de|momento da|momento do|momento em|comeco|comeco de|comeco do|comeco da|inicio|inicio de|inicio do|inicio da|fim|fim de|fim do|fim da|final|final de|final do|final da|meados|meados de|meados do|meados da|metade|metade de|metade do|metade da|quinzena de|resto|resto de|resto do|resto da|parte|parte de|parte do|parte da|por volta de|por volta do|cerca de|antes de|antes do|antes da|depois de|depois do|depois da|desde|ate|ate o|ate a|a partir de|a partir do|a partir da|dentro de|semana de|semanas de|semanas|dias de|dia|dias|mais tarde|mais para|la para|la por|algures em|algures|vezes|sempre",
            behind: "no minimo|no maximo|o mais tardar|o mais cedo|ou assim|ou mais tarde|ou depois|ou antes|ou na proxima|ou a proxima|ou na seguinte|ou a seguinte|ou na outra|ou no proximo|ou no seguinte|ou talvez|e a seguinte|e na seguinte|e depois|ou por ai|mais ou menos",
        },
        Veto {
            kinds: &[Kind::DateRange, Kind::TimeRange, Kind::DateTimeRange],
            before: "nao|nao em|nao no|nao na|exceto|exceto no|exceto na|menos|menos no|menos na|nem|nem no|nem na|salvo|nunca|em vez de|em vez da|em vez do",
            behind: "nao ,|nao da|nao posso|nao podemos|nao consigo|nao serve|nao me serve|nao vai dar|nao e possivel|nao pode|nem pensar",
        },
        Veto {
            kinds: &[Kind::Date, Kind::DateTime],
            before: "",
            behind: "ou no dia seguinte|ou no outro|ou depois|ou antes|ou mais tarde|ou assim|ou outro|ou qualquer|ou quando|ou por ai",
        },
        Veto { kinds: &[Kind::Date, Kind::DateTime], before: "semana|semana do|semana de", behind: "" },
    ],
    consent: Consent {
        yes: "sim|simm|simmm|siim|siiim|ta correto|correta|corretas|corretos|esta correta|fechou|aceito a proposta|aceito a oferta|foi sim|e sim|isso|isso mesmo|isso ai|isso sim|claro|claro que sim|com certeza|certo|certinho|certissimo|exato|exatamente|exacto|exactamente|ok|okay|okey|oki|beleza|blz|\
              combinado|fechado|perfeito|otimo|excelente|maravilha|pode ser|pode ser sim|pode|podes|pode sim|podes sim|pode fazer|pode mandar|pode confirmar|pode marcar|pode seguir|pode ir|\
              pode prosseguir|pode continuar|pode agendar|pode reservar|pode enviar|confirmo|confirmo sim|confirmado|confirma|confirme|concordo|de acordo|estou de acordo|aceito|\
              aceito sim|quero|quero sim|queria sim|gostaria|gostaria sim|com prazer|com todo o prazer|com todo prazer|sem problema|sem problemas|nao tem problema|nenhum problema|\
              nao ha problema|acho que sim|eu acho que sim|creio que sim|penso que sim|acredito que sim|suponho que sim|esta bem|ta bem|ta bom|esta bom|tudo bem|tudo certo|tudo ok|\
              esta certo|ta certo|esta correto|correto|correcto|esta otimo|esta perfeito|afirmativo|positivo|manda ver|manda bala|vamos|vamos la|vamos nessa|vamos em frente|bora|bora la|\
              vai|por mim tudo bem|por mim sim|por mim pode ser|tudo bem por mim|porque nao|por que nao|faz isso|faca isso|faz favor|boa|show|show de bola|sem duvida|sem duvidas|\
              sem duvida nenhuma|logico|obvio|evidente|evidentemente|obviamente|uhum|aham|ahan|yes|fixe|forca|avance|avanca|avancar|prossiga|prosseguir|em frente|siga|joia|legal|serve|\
              serve sim|serve pra mim|com toda a certeza|absolutamente sim|definitivamente|certamente|seguramente|de certeza|quero muito|e isso|e isso mesmo|e isso ai|autorizo|aprovo|\
              aprovado|autorizado|topo|to dentro|estou dentro|demorou|fico com ele|prefiro sim|tenho certeza|tenho a certeza|tenho sim|sou sim|sou eu|sou eu mesmo|posso sim|preciso sim|\
              esta tudo certo|ta tudo certo|tudo correto|sim senhor|sim senhora|funciona|funciona para mim|por favor sim|nao vejo problema",
        no: "nao|nao quero|nao quero nao|nao obrigado|nao obrigada|nao muito obrigado|nem pensar|de jeito nenhum|de modo nenhum|de maneira nenhuma|de maneira alguma|de modo algum|\
             de forma alguma|de forma nenhuma|nunca|jamais|negativo|claro que nao|com certeza nao|certamente que nao|obvio que nao|acho que nao|eu acho que nao|creio que nao|penso que nao|\
             acredito que nao|suponho que nao|nao concordo|discordo|nao aceito|recuso|dispenso|hoje nao|agora nao|por enquanto nao|por ora nao|melhor nao|e melhor nao|prefiro nao|\
             prefiro que nao|nao precisa|nao precisa nao|nao preciso|nao e preciso|nao e necessario|nao sera necessario|nao vale a pena|cancela|cancele|cancelar|pare|\
             deixa pra la|deixa para la|deixa|deixe|esquece|esqueca|esqueca isso|nada disso|errado|incorreto|incorrecto|nao esta certo|nao esta correto|nao ta certo|nao esta bem|nao e isso|isso nao|\
             nao e isso nao|nope|nops|desisto|mudei de ideia|nao confirmo|nao autorizo|nao gostaria|nao pode|nao podes|nao posso|nao faca isso|nao faz isso|nao facas isso|nao mande|nao pode ser|nao me serve|\
             nao serve|nao vou querer|nao vai dar|nao da|nao tenho interesse|sem interesse|nao me interessa|nem morto|nem a pau|nao senhor|nao senhora|nao tenho|nao sou|nao sou eu|tambem nao|\
             desta vez nao|dessa vez nao|ja nao quero|nao mais|nao quero mais|nao gosto|esta errado|ta errado|acho melhor nao|quero nao|logico que nao|pode nao|naoo|naooo",
        fillers: "nada mais|nada|so isso|hmm|hum hum|felizmente|infelizmente|que pena|que bom|por favor|pf|pfv|pff|faz favor|se faz favor|obrigado|obrigada|obg|muito obrigado|muito obrigada|brigado|brigada|valeu|grato|grata|senhor|senhora|moca|moco|amigo|amiga|querida|\
                  querido|entao|bem|bom|ah|oh|e|eu|que|muito|mesmo|ja|la|so|a|o|isto|ai|ne|viu|gente|por mim|para mim|pra mim|hum|olha|olhe|tambem|agradeco|de nada|ora|pois|uai|ue|meu caro|minha cara|hein|tchau",
        changes: "mas|porem|so que|exceto|excepto|menos|se|desde que|contanto que|apenas se|somente se|so se|a menos que|a nao ser que|em vez de|em vez disso|ao inves|prefiro|\
                  entretanto|contudo|todavia|no entanto|troca|troque|muda|mude|altere|altera|com a condicao|assim que|caso|e melhor|apenas|somente",
        unsure: "nao sei|eu nao sei|nao tenho certeza|nao tenho a certeza|nao tenho ideia|talvez|quem sabe|depende|espera|espere|espera ai|calma|calma ai|um momento|um minuto|um minutinho|um instante|\
                 um segundo|so um momento|so um minuto|so um instante|so um segundo|aguarde|aguarda|pera|perai|pera ai|sei la|ainda nao|ainda nao sei|mais tarde|depois vejo|depois eu vejo|vou pensar|\
                 preciso pensar|deixa eu pensar|deixa eu ver|deixe me ver|deixa me ver|deixa me pensar|deixe me pensar|tanto faz|nem sei|pode ser que|se calhar|nao entendi|nao percebi|como assim|mais ou menos|\
                 provavelmente|possivelmente|tenho duvida|tenho duvidas|estou em duvida|na duvida|nao decidi|agora nao sei|acho que talvez|sim e nao|logo vejo|logo se ve|qualquer um|acho|sera|nao lembro|nao me lembro",
        questions: "o que|que|quem|quando|onde|qual|quais|como|quanto|quanta|quantos|quantas|sera que|e se|posso|podemos|voce|voces|tem como|da para|da pra|e possivel|quer dizer|pode me|podes me|e isso que",
        inquiries: "sao|era|quanto|quantos|qual|quando|onde|quem|por que|tem|ha|custa|abrem|fecham|o que",
        proposals: "possivel|pode ser|ok|esta bem|tudo bem|que tal|disponivel|e se|poderia|seria",
        yes_alone: "1|s|ss|y|ta|certeza",
        no_alone: "0|n|para|nn|nah|na|nn|pois nao",
    },
    commands: CommandWords {
        abbreviations: "pq=por que|vc=voce|q=que|oq=o que",
        cancel: "cancelar|cancela|cancele|cancelar tudo|cancela isso|cancele isso|cancela tudo|anular|anula|abortar|parar|para|pare|\
                 pare com isso|chega|sair|terminar|encerrar|esquece|esqueca|esquece isso|esqueca isso|deixa|deixe|deixa pra la|\
                 deixe pra la|deixa para la|deixe para la|deixa estar|deixe estar|melhor nao|mudei de ideia|\
                 mudei de opiniao|nao quero mais|ja nao quero|nao quero continuar|desisto",
        skip: "pular|pula|pule|pular esta|pular essa|pular esta pergunta|pular essa pergunta|pular a pergunta|saltar|salta|salte|\
               saltar esta pergunta|saltar a pergunta|passar|passo|proxima pergunta|a proxima pergunta|proxima|proximo|seguinte|\
               sem resposta|prefiro nao dizer|prefiro nao responder|nao quero dizer|nao quero responder|deixar em branco|\
               deixe em branco|deixa em branco|nao se aplica",
        repeat: "repetir|repete|repita|repete isso|repita isso|repete a pergunta|repita a pergunta|repetir a pergunta|repetir isso|\
                 de novo|outra vez|mais uma vez|novamente|como|como e|como assim|perdao|desculpe|o que disse|o que voce disse|\
                 que disse|qual era a pergunta|qual foi a pergunta|o que perguntou|o que voce perguntou|diga de novo|diz de novo|\
                 fale de novo|fala de novo|nao ouvi|\
                 ja disse|eu ja disse|ja te disse|ja lhe disse|acabei de dizer|acabei de falar|eu acabei de dizer|\
                 ja falei|eu ja falei|ja respondi",
        help: "ajuda|ajude me|ajuda me|me ajuda|me ajude|preciso de ajuda|o que|que|hein|o que quer dizer|o que voce quer dizer|\
               o que quer dizer com isso|o que isso significa|o que significa|o que significa isso|o que quer dizer isso|\
               o que e isso|o que quer|o que voce quer|o que quer saber|o que voce quer saber|por que|porque|porque pergunta|\
               por que pergunta|por que pergunta isso|porque pergunta isso|por que voce pergunta|por que voce pergunta isso|\
               por que esta perguntando|por que esta perguntando isso|por que voce esta perguntando|\
               por que voce esta perguntando isso|por que quer saber|por que quer saber isso|por que voce quer saber|\
               por que voce quer saber isso|por que precisa disso|por que voce precisa disso|por que precisa saber|\
               por que voce precisa saber|por que voce precisa saber isso|porque precisa disso|por que e necessario|para que|\
               para que serve|pra que|pra que serve|para que precisa disso|para que voce precisa disso|nao entendo|nao entendi|\
               nao percebo|nao percebi|nao entendi a pergunta|nao compreendo|estou confuso|estou confusa|o que devo dizer|\
               o que devo escrever|o que devo digitar|o que devo fazer|o que posso dizer|o que posso fazer|o que posso perguntar|\
               quais sao as opcoes|quais sao minhas opcoes|que opcoes ha|que opcoes tenho|quais opcoes eu tenho|explica|explique|\
               explica isso|explique isso|me explica|me explique|e agora|como funciona|como isso funciona",
        back: "voltar|volta|volte|volta atras|volte atras|voltar atras|atras|para tras|um passo atras|um passo para tras|anterior|\
               pergunta anterior|a pergunta anterior|voltar a pergunta anterior|voltar para a pergunta anterior|passo anterior|\
               a anterior|desfazer|desfaz|desfaca|mudar minha ultima resposta|mudar a ultima resposta|\
               corrigir minha ultima resposta|eu errei|errei|enganei me|me enganei",
        start_over: "comecar de novo|comecar outra vez|comecar do zero|comecar do inicio|comecar do comeco|comecar novamente|recomecar|\
                     recomeca|recomece|reiniciar|reinicia|reinicie|do inicio|do comeco|desde o inicio|desde o comeco|do zero|\
                     voltar ao inicio|voltar ao comeco|voltar ao menu principal|menu principal|nova conversa",
        person: "pessoa|uma pessoa|uma pessoa real|pessoa real|uma pessoa de verdade|humano|um humano|ser humano|um ser humano|\
                 atendente|um atendente|uma atendente|atendente humano|um atendente humano|agente|um agente|operador|um operador|\
                 uma operadora|representante|um representante|assistente humano|um funcionario|funcionario|alguem|atendimento|\
                 atendimento ao cliente|o atendimento|apoio ao cliente|suporte|o suporte|um colega|um supervisor|um gerente|\
                 o gerente",
        fillers: "por favor|obrigado|obrigada|ok|ta|ta bom|ta bem|esta bem|bem|bom|oh|ah|hm|nao|sim|entao|agora|melhor|desculpe|\
                  desculpa|pode|podes|poderia|podemos|poderiamos|posso|quero|queria|gostaria de|eu quero|eu queria|eu gostaria de|eu|\
                  preciso|preciso de|prefiro|vamos|falar com|falar|conversar com|me passa para|me passe para|me transfira para|\
                  transfira me para|me liga com|me coloque em contato com|isso|isto|tudo|e|ola|oi|aqui|ja|imediatamente|a|o|com|ha|\
                  tem|mas|me|diretamente|um momento|simplesmente|finalmente|voce pode|voce poderia|para mim|pra mim|tenho que|espera|espere|espera ai|um segundo|um instante|olha|olhe|por acaso",
        corrections: "eu disse|disse|nao espera|nao espere|espera|espere|espera nao|nao desculpa|nao desculpe|desculpa|desculpe|nao|ah nao|digo|alias|\
                      ou melhor|quer dizer|ou seja nao|melhor|na verdade|que seja|mas sim|e sim|perdao",
        retractions: "quero dizer|quis dizer|queria dizer|eu quis dizer|correcao|corrigindo|me enganei|enganei me|errei|erro meu|\
                      muda para|mude para|troca para|troque para|deveria ser|deve ser",
        endings: "em vez disso|melhor",
        refusals: "nao quero|nao queria|nao gostaria de|nao desejo|nao preciso de|nao preciso|prefiro nao|por favor nao|nao pretendo|\
                   melhor nao",
        first_refusals: "nao",
        last_refusals: "",
        denials_before: "nao|em vez de|ao inves de|sem|exceto|menos|tudo menos|nao e|odeio|alergico a|alergica a|mas nao|mas sem",
        or: "ou",
        denials_behind: "e impossivel|nao da|nao serve|nao pode ser|e tarde demais|e cedo demais|e longe demais|nao e possivel",
        links: "o|a|os|as|ao|de|do|da|em|no|na|para|pra|desde|ate|com|um|uma",
        links_behind: "",
        additions: "e|tambem|mais|adiciona|adicione|e tambem|com",
        last_additions: "tambem|alem disso",
    },
};
