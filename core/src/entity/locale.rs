//! Words used in dates, durations, lists and confirmations, in seven languages.
//!
//! Rows of a table are separated by `|`, alternatives in a row by `,`. All words are folded.

/// The words of a language.
pub(super) struct LocaleWords {
    language: &'static str,
    /// Conjunctions between the last two items of a list.
    pub and: &'static str,
    /// Indefinite articles, which count as one.
    pub article: &'static str,
    /// Words for one half.
    pub half: &'static str,
    /// Articles, possessives and demonstratives, which may stand between a preposition and a value.
    pub determiners: &'static str,
    /// Prepositions, each followed by its contractions with an article.
    pub contractions: &'static str,
    /// Months, from January.
    pub months: &'static str,
    /// Weekdays, from Monday.
    pub weekdays: &'static str,
    /// Today, tomorrow, yesterday, the day after tomorrow.
    pub days: &'static str,
    /// Words before a past day, or before a word that only looks like a day.
    pub before_other_day: &'static str,
    /// Words after a past day.
    pub after_past_day: &'static str,
    /// Words before a month.
    pub before_month: &'static str,
    /// Words before an offset from today, such as "in".
    pub before_offset: &'static str,
    /// Years, months, weeks, days, hours, minutes, seconds.
    pub units: &'static str,
    /// Words of consent.
    pub yes: &'static str,
    /// Words of refusal.
    pub no: &'static str,
    /// Words that negate consent and have no meaning alone.
    pub not: &'static str,
    /// Words of doubt.
    pub unsure: &'static str,
    /// Consent and refusal, only as the whole text.
    pub whole_text_only: [&'static str; 2],
}

/// Returns the words of a locale's language; English for an unsupported language.
pub(super) fn words_of_locale(locale: &str) -> &'static LocaleWords {
    let language = language(locale);
    WORDS.iter().find(|it| language.eq_ignore_ascii_case(it.language)).unwrap_or(&EN)
}

/// Whether a folded word is an article, a possessive or a demonstrative.
pub fn is_determiner(word: &str, locale: &str) -> bool {
    words_of_locale(locale).determiners.split(',').any(|it| it == word)
}

/// The preposition that a folded word contracts with an article, such as `von` for the German `vom`; else the word.
pub fn without_article<'w>(word: &'w str, locale: &str) -> &'w str {
    let mut rows = words_of_locale(locale).contractions.split('|').filter(|it| !it.is_empty());
    rows.find(|it| it.split(',').any(|it| it == word)).and_then(|it| it.split(',').next()).unwrap_or(word)
}

/// The language of a locale.
pub(super) fn language(locale: &str) -> &str {
    locale.split(['-', '_']).next().unwrap_or_default()
}

/// The region of a locale in upper case; empty without one.
pub(super) fn region(locale: &str) -> String {
    let region = locale.split(['-', '_']).skip(1).find(|it| it.len() == 2);
    region.unwrap_or_default().to_ascii_uppercase()
}

const WORDS: [LocaleWords; 7] = [EN, DE, ES, FR, IT, PT, NL];

const EN: LocaleWords = LocaleWords {
    language: "en",
    and: "and",
    article: "a,an",
    half: "half",
    determiners: "a,an,the,my,our,your,his,her,its,their,this,that,these,those",
    contractions: "",
    months: "january|february|march|april|may|june|july|august|september|october|november|december",
    weekdays: "monday,mon|tuesday,tue,tues|wednesday,wed|thursday,thu,thur,thurs|friday,fri|saturday,sat|sunday,sun",
    days: "today|tomorrow|yesterday|day after tomorrow",
    before_other_day: "last,past,before",
    after_past_day: "",
    before_month: "of",
    before_offset: "in",
    units: "years,year,yrs,yr|months,month|weeks,week,wks,wk,w|days,day,d|hours,hour,hrs,hr,h|\
            minutes,minute,mins,min,m|seconds,second,secs,sec,s",
    yes: "yes,yeah,yep,yup,yea,sure,ok,okay,correct,thats right,that s right,all right,alright,certainly,definitely,absolutely,\
          affirmative,indeed,of course,please do,go ahead,\
          sounds good,no problem,no worries,no doubt,why not,true",
    no: "no,nope,nah,never,negative,incorrect,wrong,no way,of course not,absolutely not,definitely not,certainly not,no thanks,false",
    not: "not,dont,don t,didnt,didn t,isnt,isn t,cant,can t,wont,won t,doesnt,doesn t",
    unsure: "dont know,don t know,not know,not sure,no idea,no clue,maybe,perhaps",
    whole_text_only: ["1,y,right", "0,n"],
};

const DE: LocaleWords = LocaleWords {
    language: "de",
    and: "und",
    article: "ein,eine,einen,einem,einer",
    half: "halbe,halben,halber,halb",
    determiners: "ein,eine,einen,einem,einer,der,die,das,den,dem,des,mein,meine,meinen,meinem,meiner,unser,unsere,unseren,unserem,\
                  unserer,dein,deine,deinen,deinem,deiner,ihr,ihre,ihren,ihrem,ihrer,sein,seine,seinen,seinem,seiner,diese,diesen,\
                  diesem,dieser,dieses",
    contractions: "von,vom|zu,zum,zur|an,am,ans|in,im,ins|auf,aufs|bei,beim",
    months: "januar,janner|februar|marz,maerz|april|mai|juni|juli|august|september|oktober|november|dezember",
    weekdays: "montag|dienstag|mittwoch|donnerstag|freitag|samstag,sonnabend|sonntag",
    days: "heute|morgen|gestern|ubermorgen,uebermorgen",
    before_other_day: "letzten,letzter,letzte,vergangenen,guten",
    after_past_day: "",
    before_month: "",
    before_offset: "in",
    units: "jahren,jahre,jahr|monaten,monate,monat|wochen,woche,w|tagen,tage,tag|stunden,stunde,std,h|\
            minuten,minute,min,m|sekunden,sekunde,sek,s",
    yes: "ja,jawohl,jep,jo,klar,gerne,gern,sicher,ok,okay,richtig,stimmt,genau,korrekt,naturlich,selbstverstandlich,einverstanden,wahr,\
          auf jeden fall,kein problem,warum nicht",
    no: "nein,ne,nee,niemals,nie,falsch,auf keinen fall,lieber nicht,sicher nicht,naturlich nicht,stimmt nicht",
    not: "nicht,kein,keine",
    unsure: "weiss nicht,weiss ich nicht,weiss es nicht,nicht sicher,keine ahnung,vielleicht",
    whole_text_only: ["1,j", "0,n"],
};

const ES: LocaleWords = LocaleWords {
    language: "es",
    and: "y,e",
    article: "un,una",
    half: "media,medio",
    determiners: "un,una,el,la,los,las,mi,mis,tu,tus,su,sus,nuestro,nuestra,este,esta,ese,esa",
    contractions: "de,del|a,al",
    months: "enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre,setiembre|octubre|noviembre|diciembre",
    weekdays: "lunes|martes|miercoles|jueves|viernes|sabado|domingo",
    days: "hoy|manana|ayer|pasado manana",
    before_other_day: "la,esta,pasado",
    after_past_day: "pasado",
    before_month: "de",
    before_offset: "en,dentro de",
    units: "anos,ano|meses,mes|semanas,semana|dias,dia,d|horas,hora,h|minutos,minuto,min,m|segundos,segundo,seg,s",
    yes: "si,sip,claro,claro que si,vale,ok,okay,correcto,exacto,cierto,por supuesto,desde luego,de acuerdo,verdadero,como no,por que no",
    no: "no,nunca,jamas,incorrecto,falso,para nada,claro que no,por supuesto que no,de ninguna manera",
    not: "nada",
    unsure: "no se,no lo se,no estoy seguro,no estoy segura,quizas,quiza,tal vez",
    whole_text_only: ["1,s", "0,n"],
};

const FR: LocaleWords = LocaleWords {
    language: "fr",
    and: "et",
    article: "un,une",
    half: "demi,demie",
    determiners: "un,une,le,la,les,l,mon,ma,mes,ton,ta,tes,son,sa,ses,notre,nos,votre,vos,leur,leurs,ce,cet,cette,ces",
    contractions: "de,du,des,d|a,au,aux",
    months: "janvier|fevrier|mars|avril|mai|juin|juillet|aout|septembre|octobre|novembre|decembre",
    weekdays: "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
    days: "aujourd hui|demain|hier|apres demain",
    before_other_day: "avant",
    after_past_day: "dernier",
    before_month: "",
    before_offset: "dans",
    units: "ans,an,annees,annee|mois|semaines,semaine|jours,jour,j|heures,heure,h|minutes,minute,min,mn,m|secondes,seconde,sec,s",
    yes: "oui,ouais,ouaip,ok,okay,daccord,d accord,bien sur,certainement,exact,exactement,volontiers,tout a fait,absolument,vrai,\
          pourquoi pas,pas de probleme,pas de souci",
    no: "non,nan,jamais,pas du tout,pas question,faux,bien sur que non,absolument pas,certainement pas,pas vraiment",
    not: "pas",
    unsure: "sais pas,pas sur,pas sure,peut etre,aucune idee",
    whole_text_only: ["1,o", "0,n"],
};

const IT: LocaleWords = LocaleWords {
    language: "it",
    and: "e,ed",
    article: "un,una,uno",
    half: "mezza,mezzo,mezz",
    determiners: "un,una,uno,il,lo,la,i,gli,le,l,mio,mia,tuo,tua,suo,sua,nostro,nostra,questo,questa",
    contractions: "da,dal,dallo,dalla,dai,dagli,dalle,dall|a,al,allo,alla,ai,agli,alle,all,ad|di,del,dello,della,dei,degli,delle,dell|\
                   in,nel,nello,nella,nei,negli,nelle,nell|su,sul,sullo,sulla,sui,sugli,sulle,sull",
    months: "gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre",
    weekdays: "lunedi|martedi|mercoledi|giovedi|venerdi|sabato|domenica",
    days: "oggi|domani|ieri|dopodomani",
    before_other_day: "altro",
    after_past_day: "scorso,scorsa",
    before_month: "",
    before_offset: "tra,fra",
    units: "anni,anno|mesi,mese|settimane,settimana|giorni,giorno|ore,ora,h|minuti,minuto,min,m|secondi,secondo,sec,s",
    yes: "si,certo,certo che si,certamente,ok,okay,esatto,corretto,giusto,va bene,volentieri,daccordo,d accordo,assolutamente,\
          assolutamente si,vero,perche no,nessun problema",
    no: "no,mai,falso,sbagliato,per niente,assolutamente no,certo che no,va bene no",
    not: "non",
    unsure: "non so,non lo so,non sono sicuro,non sono sicura,forse",
    whole_text_only: ["1,s", "0,n"],
};

const PT: LocaleWords = LocaleWords {
    language: "pt",
    and: "e",
    article: "um,uma",
    half: "meia,meio",
    determiners: "um,uma,o,os,as,meu,minha,meus,minhas,seu,sua,seus,suas,nosso,nossa,este,esta,esse,essa",
    contractions: "de,do,da,dos,das|a,ao,aos|em,no,na,nos,nas|por,pelo,pela,pelos,pelas",
    months: "janeiro|fevereiro|marco|abril|maio|junho|julho|agosto|setembro|outubro|novembro|dezembro",
    weekdays: "segunda feira,segunda|terca feira,terca|quarta feira,quarta|quinta feira,quinta|sexta feira,sexta|sabado|domingo",
    days: "hoje|amanha|ontem|depois de amanha",
    before_other_day: "",
    after_past_day: "passado,passada",
    before_month: "de",
    before_offset: "em,daqui a,dentro de",
    units: "anos,ano|meses,mes|semanas,semana|dias,dia,d|horas,hora,h|minutos,minuto,min,m|segundos,segundo,seg,s",
    yes: "sim,claro,claro que sim,ok,okay,certo,correto,com certeza,exato,esta bem,beleza,verdadeiro,por que nao,sem problema",
    no: "nao,nunca,jamais,falso,errado,de jeito nenhum,claro que nao,com certeza nao",
    not: "nada",
    unsure: "nao sei,nao tenho certeza,talvez",
    whole_text_only: ["1,s", "0,n"],
};

const NL: LocaleWords = LocaleWords {
    language: "nl",
    and: "en",
    article: "een",
    half: "half,halve",
    determiners: "een,de,het,mijn,ons,onze,jouw,je,uw,zijn,haar,hun,dit,dat,deze,die",
    contractions: "",
    months: "januari|februari|maart,mrt|april|mei|juni|juli|augustus|september|oktober|november|december",
    weekdays: "maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag|zondag",
    days: "vandaag|morgen|gisteren|overmorgen",
    before_other_day: "afgelopen,vorige,goede,goeden",
    after_past_day: "",
    before_month: "",
    before_offset: "over",
    units: "jaren,jaar|maanden,maand|weken,week,w|dagen,dag|uren,uur,u,h|minuten,minuut,min,m|seconden,seconde,sec,s",
    yes: "ja,jawel,zeker,ok,oke,okay,klopt,prima,graag,natuurlijk,juist,correct,akkoord,is goed,waar,geen probleem,waarom niet",
    no: "nee,neen,nooit,fout,onjuist,onwaar,liever niet,zeker niet,natuurlijk niet,klopt niet",
    not: "niet,geen",
    unsure: "weet niet,weet ik niet,weet het niet,niet zeker,geen idee,misschien",
    whole_text_only: ["1,j", "0,n"],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::phrase::fold_text;

    #[test]
    fn locales_have_a_language_and_a_region() {
        for (locale, expected) in
            [("en-US", ("en", "US")), ("de", ("de", "")), ("zh-Hans-cn", ("zh", "CN")), ("pt_BR", ("pt", "BR")), ("", ("", ""))]
        {
            assert_eq!((language(locale), region(locale).as_str()), expected);
        }
        assert_eq!((words_of_locale("FR-be").language, words_of_locale("sv").language), ("fr", "en"));
    }

    #[test]
    fn words_beside_a_value_are_known() {
        assert!(is_determiner("my", "en-GB") && is_determiner("einem", "de") && !is_determiner("a", "es") && !is_determiner("from", "en"));
        for (word, locale, expected) in
            [("vom", "de-AT", "von"), ("zur", "de", "zu"), ("vom", "en", "vom"), ("dalla", "it", "da"), ("", "en", "")]
        {
            assert_eq!(without_article(word, locale), expected, "{word}");
        }
    }

    #[test]
    fn tables_are_complete_and_folded() {
        for it in WORDS {
            let rows = [it.months, it.weekdays, it.days, it.units].map(|it| it.split('|').count());
            assert_eq!(rows, [12, 7, 4, 7], "{}", it.language);
            for words in [
                it.months,
                it.weekdays,
                it.days,
                it.units,
                it.yes,
                it.no,
                it.not,
                it.unsure,
                it.and,
                it.half,
                it.determiners,
                it.contractions,
            ] {
                assert_eq!(fold_text(words), words);
                assert!(!words.contains(", ") && !words.contains(",,"), "{words}");
            }
        }
    }
}
