//! Words with which people tell of days that they do not ask for: of an earlier event, or that they are away. They are folded; alternatives
//! are separated by `|`.

use crate::phrases::Phrases;

/// The words of a language, as data or compiled.
pub(crate) struct MentionWords<List = &'static str> {
    code: &'static str,
    /// Verbs in the past.
    pub pasts: List,
    /// Whether an accent makes another word of them: German `hätte` is a wish.
    pub has_plain_pasts: bool,
    /// What says, beside a verb in the past, that the speaker did it: `I was`.
    pub own: List,
    /// What says, beside a verb in the past, that it was an earlier event: `last`.
    pub last: List,
    /// What says so without a verb: `last time`.
    pub last_times: List,
    /// What makes a comparison of that: `same as last time`.
    pub comparisons: List,
    /// What makes a wish of a verb in the past: `I was thinking of Friday`.
    pub wishes: List,
    /// Phrases that say that the speaker has no time.
    pub absences: List,
    /// Verbs that say it beside a phrase of `places`: `I'm`.
    pub stays: List,
    /// What says, beside such a verb, that the speaker is away or busy: `on holiday`.
    pub places: List,
    /// Words with which a clause begins.
    pub clauses: List,
    /// Phrases with which a request begins, also without a comma before it: `I'd like`.
    pub requests: List,
    /// Words of a question about the past besides its verbs, also what it asks about: `did`, `accident`.
    pub past_questions: List,
    /// Words of a question or a request about absences.
    pub absence_topics: List,
}

impl MentionWords {
    /// Compiles the lists.
    pub fn compile(&self) -> MentionWords<Phrases> {
        MentionWords {
            code: self.code,
            pasts: Phrases::new(self.pasts),
            has_plain_pasts: self.has_plain_pasts,
            own: Phrases::new(self.own),
            last: Phrases::new(self.last),
            last_times: Phrases::new(self.last_times),
            comparisons: Phrases::new(self.comparisons),
            wishes: Phrases::new(self.wishes),
            absences: Phrases::new(self.absences),
            stays: Phrases::new(self.stays),
            places: Phrases::new(self.places),
            clauses: Phrases::new(self.clauses),
            requests: Phrases::new(self.requests),
            past_questions: Phrases::new(self.past_questions),
            absence_topics: Phrases::new(self.absence_topics),
        }
    }
}

const ALL: [MentionWords; 8] = [
    MentionWords {
        code: "en",
        pasts: "was|were|had|been|came|visited|took place|happened",
        has_plain_pasts: false,
        own: "i was|we were|i had|we had|i came|we came|i visited|we visited|i have|we have|i ve|we ve|ive|weve|i last|we last|i already|\
              we already",
        last: "last|previous|prior|former|most recent|latest",
        last_times: "last time|the last time",
        comparisons: "same|like|as",
        wishes: "better|thinking|thought|wondering|hoping|hoped|looking|planning|planned|wanted|told|asked|going to|about to|in mind|had to",
        absences: "have to work|got to work|need to work|must work",
        stays: "i m|im|i am|we re|we are|ll be|will be|i have been|i ve been",
        places: "away|abroad|on holiday|on holidays|on vacation|on leave|on a trip|on a business trip|out of town|out of office|\
                 out of the office|out of the country|traveling|travelling|busy|at work|tied up|unavailable|not available|not around|\
                 not here|not home|not at home|not in town|not free",
        clauses: "but|though|although|so|because|when|while|if|therefore|then|instead|however",
        requests: "can i|can we|could i|could we|may i|i d like|i would like|we d like|we would like|i want|we want|i need|we need|id like|let s|lets|\
                   please|how about|what about|this time",
        past_questions: "accident|incident|damage|loss|theft|purchase|birth|did|happen|last|previous|ago|already|since when|so far",
        absence_topics: "away|abroad|holiday|holidays|vacation|vacations|leave|absence|absences|absent|trip|trips|travel|traveling|travelling|busy|\
                         unavailable",
    },
    MentionWords {
        code: "de",
        pasts: "war|waren|warst|hatte|hatten|gewesen|dagewesen|gehabt|fand",
        has_plain_pasts: true,
        own: "ich war|war ich|wir waren|waren wir|ich hatte|hatte ich|wir hatten|hatten wir|ich bin|bin ich|wir sind|sind wir|ich habe|habe ich|\
              ich hab|hab ich|wir haben|haben wir",
        last: "letzter|letzte|letzten|letztes|letztem|voriger|vorige|vorigen|voriges|vorigem|vorheriger|vorherige|vorherigen|vorheriges|fruherer|\
               fruhere|fruheren|fruheres|bisheriger|bisherige|bisherigen|zuletzt|letztmals",
        last_times: "zuletzt|letztmals|das letzte mal|letztes mal|beim letzten mal|voriges mal",
        comparisons: "wie|gleich|gleiche|selbe",
        wishes: "gern|gerne|lieber|liebsten|gedacht|gehofft|im sinn|im auge|im kopf|vorgestellt|vorgehabt|uberlegt|hatte vor|hatten vor|war gut|\
                 war super|war toll|war ideal|war perfekt|war prima|war besser|war okay|war ok|war mir|war recht|war moglich",
        absences: "keine zeit|schon etwas vor|schon was vor|muss ich arbeiten|muss arbeiten|arbeiten muss|habe ich schon einen termin|\
                   hab ich schon einen termin",
        stays: "bin|sind|bleibe|bleiben|fahre|fahren|fliege|fliegen",
        places: "im urlaub|in urlaub|in den urlaub|in den ferien|in die ferien|im ausland|auf reisen|auf einer reise|auf dienstreise|\
                 auf geschaftsreise|verreist|unterwegs|weg|abwesend|verhindert|beschaftigt|ausser haus|nicht da|nicht zu hause|nicht in der stadt|\
                 krankgeschrieben|im krankenhaus|auf der arbeit|in der arbeit",
        clauses: "aber|jedoch|sondern|weil|denn|also|deshalb|daher|darum|deswegen|wenn|als|obwohl|wahrend|dass",
        requests: "kann ich|konnen wir|konnte ich|konnten wir|darf ich|ich mochte|wir mochten|mochte ich|mochten wir|ich will|wir wollen|ich brauche|\
                   wir brauchen|ich wurde|wir wurden|bitte|diesmal|dieses mal",
        past_questions: "unfall|unfalls|unfalltag|schaden|schadens|schadenstag|vorfall|vorfalls|diebstahl|diebstahls|einbruch|einbruchs|kauf|kaufs|geburt|passiert|geschehen|ereignet|zugetragen|aufgetreten|entstanden|bemerkt|gekauft|bestellt|geliefert|aufgegeben|erhalten|\
                         bekommen|bezahlt|gebucht|begonnen|angefangen|gekommen|verloren|gestohlen|geboren|letzter|letzte|letzten|letztes|letztem|\
                         zuletzt|bisher|seit wann",
        absence_topics: "urlaub|urlaubs|urlaubsantrag|urlaubsbeginn|urlaubsende|ferien|abwesend|abwesenheit|verreist|verreisen|reise|reisen|\
                         dienstreise|weg|unterwegs|krank|krankgeschrieben|krankmeldung|verhindert",
    },
    MentionWords {
        code: "es",
        pasts: "era|eran|fue|fueron|estaba|estabamos|estuve|estuvimos|estuvo|tenia|teniamos|tuve|tuvimos|tuvo|fui|fuimos|vine|vinimos|ha sido|\
                he estado|hemos estado|he tenido|hemos tenido",
        has_plain_pasts: false,
        own: "estuve|estuvimos|tuve|tuvimos|fui|fuimos|vine|vinimos|he estado|hemos estado|he tenido|hemos tenido|yo tenia|yo estaba|ya tenia",
        last: "ultimo|ultima|ultimos|ultimas|anterior|anteriores|previo|previa|pasado|pasada",
        last_times: "la ultima vez|ultima vez|la vez pasada",
        comparisons: "como|igual|misma|mismo",
        wishes: "pensado|pensando|pensaba|mente|previsto|planeado|planeaba|esperaba|queria|gustaria|quisiera|era para|era por",
        absences: "no voy a estar|no vamos a estar|no estoy aqui|no estoy disponible|no estare|estoy fuera|estamos fuera|estare fuera|estaremos fuera|tengo que trabajar|tengo otro compromiso|tengo un compromiso|tengo otra cita",
        stays: "estoy|estamos|estare|estaremos|voy a estar|vamos a estar|voy|vamos|me voy|nos vamos|salgo|salimos",
        places: "de vacaciones|de viaje|ocupado|ocupada|ocupados|ocupadas|en el extranjero|de baja|viajando|trabajando|ausente",
        clauses: "pero|sino|aunque|porque|pues|entonces|cuando|si|mientras|asi",
        requests: "puedo|podemos|podria|podriamos|quiero|queremos|quisiera|quisieramos|me gustaria|nos gustaria|necesito|necesitamos|por favor|\
                   esta vez",
        past_questions: "accidente|incidente|siniestro|robo|compra|nacimiento|ocurrio|ocurrido|paso|pasado|sucedio|sucedido|ultima|ultimo|anterior|hizo|hiciste|compro|compraste|pidio|pediste|recibio|\
                         recibiste|empezo|nacio|naciste|desde cuando",
        absence_topics: "vacaciones|viaje|viajes|viajar|viajas|viaja|fuera|ausencia|ausente|ocupado|ocupada|baja|permiso",
    },
    MentionWords {
        code: "fr",
        pasts: "etait|etaient|etais|etions|avait|avaient|avais|avions|a ete|ai ete|avons ete|ont ete|ai eu|a eu|avons eu|ai deja eu|suis venu|\
                suis venue|sommes venus|sommes venues|remonte|remontait|fut",
        has_plain_pasts: false,
        own: "j etais|nous etions|j avais|nous avions|j ai ete|nous avons ete|j ai eu|nous avons eu|j ai deja eu|je suis venu|je suis venue|\
              nous sommes venus|nous sommes venues",
        last: "dernier|derniere|derniers|dernieres|precedent|precedente|precedents|anterieur|anterieure|ancien|ancienne",
        last_times: "la derniere fois|derniere fois|la fois derniere",
        comparisons: "comme|pareil|meme",
        wishes: "pense a|pense au|pensais|pensait|prevu|prevoyais|envisage|en tete|avais espere|esperais|souhaite|voulais|aimerais|possible|etait pour",
        absences: "je travaille|dois travailler|deja quelque chose|ai un empechement|ai deja un rendez vous",
        stays: "suis|sommes|serai|serons|vais|allons|pars|partons",
        places: "en vacances|en conge|en conges|en voyage|en deplacement|absent|absente|absents|absentes|a l etranger|occupe|occupee|occupes|\
                 pas la|pas disponible|pas libre|en arret|pris|prise|au travail",
        clauses: "mais|car|donc|parce|puisque|quand|lorsque|si|alors",
        requests: "je voudrais|nous voudrions|je veux|nous voulons|j aimerais|nous aimerions|je souhaite|je peux|puis je|est ce que|il me faut|\
                   j ai besoin|s il vous plait|s il te plait|svp|cette fois",
        past_questions: "accident|incident|sinistre|achat|naissance|passe|arrive|produit|survenu|survenue|eu lieu|dernier|derniere|precedent|precedente|achete|recu|constate|commence|ne|nee|\
                         depuis quand",
        absence_topics: "vacances|conge|conges|absence|absences|absent|absente|voyage|voyages|voyager|voyagez|deplacement|partez|pars|arret|occupe",
    },
    MentionWords {
        code: "it",
        pasts: "era|erano|ero|eravamo|e stato|e stata|sono stato|sono stata|siamo stati|siamo state|aveva|avevo|avevamo|ho avuto|abbiamo avuto|\
                ho gia avuto|sono venuto|sono venuta|siamo venuti|siamo venute|fu",
        has_plain_pasts: false,
        own: "ero|eravamo|sono stato|sono stata|siamo stati|siamo state|avevo|avevamo|ho avuto|abbiamo avuto|ho gia avuto|sono venuto|sono venuta|\
              siamo venuti|siamo venute",
        last: "ultimo|ultima|ultimi|ultime|precedente|precedenti|scorso|scorsa|passato|passata",
        last_times: "l ultima volta|ultima volta|la volta scorsa",
        comparisons: "come|uguale|stessa|stesso",
        wishes: "pensato|pensavo|pensando|mente|previsto|sperato|speravo|volevo|vorrei|era per|in programma",
        absences: "non ci sono|non ci siamo|non ci saro|non ci saremo|sono fuori|siamo fuori|saro fuori|saremo fuori|sono via|siamo via|saro via|saremo via|devo lavorare|ho un impegno|ho gia un impegno|ho un altro impegno",
        stays: "sono|siamo|saro|saremo|vado|andiamo|parto|partiamo",
        places: "in vacanza|in ferie|in viaggio|fuori citta|all estero|impegnato|impegnata|impegnati|occupato|occupata|assente|in malattia|\
                 in trasferta|al lavoro",
        clauses: "ma|pero|perche|quindi|percio|quando|se|mentre|allora",
        requests: "posso|possiamo|potrei|potremmo|vorrei|vorremmo|voglio|vogliamo|mi piacerebbe|ci piacerebbe|ho bisogno|per favore|per piacere|\
                   questa volta|stavolta",
        past_questions: "incidente|sinistro|furto|acquisto|nascita|successo|accaduto|avvenuto|verificato|ultimo|ultima|precedente|comprato|acquistato|ordinato|ricevuto|iniziato|cominciato|\
                         nato|nata|da quando",
        absence_topics: "vacanza|vacanze|ferie|viaggio|viaggi|viaggiare|assenza|assenze|assente|malattia|permesso|impegnato|impegnata|via",
    },
    MentionWords {
        code: "nl",
        pasts: "was|waren|had|hadden|geweest|gehad",
        has_plain_pasts: false,
        own: "ik was|was ik|we waren|wij waren|waren we|waren wij|ik had|had ik|we hadden|wij hadden|hadden we|hadden wij|ik ben|ben ik|we zijn|\
              wij zijn|zijn we|zijn wij|ik heb|heb ik|we hebben|wij hebben|hebben we|hebben wij",
        last: "laatste|laatst|vorige|vorig|voorgaande|eerdere",
        last_times: "de laatste keer|laatste keer|de vorige keer|vorige keer|voor het laatst",
        comparisons: "zoals|als|hetzelfde|dezelfde",
        wishes: "graag|liever|liefst|gedacht|gedachten|gehoopt|gewild|gepland|willen|van plan|in het hoofd",
        absences: "ben er niet|ben ik er niet|zijn we er niet|geen tijd|moet ik werken|moet werken|werken moet|al een afspraak|al iets|al wat",
        stays: "ben|zijn|zit|zitten|ga|gaan",
        places: "op vakantie|met vakantie|met verlof|op reis|op zakenreis|weg|afwezig|verhinderd|bezet|bezig|druk|niet thuis|niet aanwezig|\
                 in het buitenland",
        clauses: "maar|want|dus|omdat|toen|wanneer|als|terwijl|daarom|hoewel",
        requests: "kan ik|kunnen we|mag ik|ik wil|we willen|wil ik|ik zou|zou ik|ik moet|ik heb nodig|alsjeblieft|alstublieft|deze keer|dit keer",
        past_questions: "ongeval|ongeluk|schade|incident|diefstal|aankoop|geboorte|gebeurd|gebeurde|plaatsgevonden|ontstaan|laatste|vorige|gekocht|besteld|ontvangen|begonnen|geboren|sinds wanneer",
        absence_topics: "vakantie|vakanties|vakantiedagen|verlof|reis|reizen|reist|afwezig|afwezigheid|weg|ziek",
    },
    MentionWords {
        code: "pt",
        pasts: "era|eram|foi|foram|estava|estavamos|estive|estivemos|esteve|tinha|tinhamos|tive|tivemos|teve|fui|fomos|vim|viemos",
        has_plain_pasts: false,
        own: "estive|estivemos|tive|tivemos|fui|fomos|vim|viemos|eu tinha|eu estava|ja tinha",
        last: "ultimo|ultima|ultimos|ultimas|anterior|anteriores|previo|previa|passado|passada|antigo|antiga",
        last_times: "a ultima vez|da ultima vez|ultima vez|da vez passada",
        comparisons: "como|igual|mesma|mesmo",
        wishes: "pensado|pensando|pensava|mente|previsto|planejado|planejava|planeado|esperava|queria|gostaria|era para|era pra|era so",
        absences: "nao vou estar|nao vamos estar|nao estou ca|nao estou disponivel|nao estarei|estou fora|estamos fora|estarei fora|estaremos fora|tenho que trabalhar|tenho de trabalhar|tenho outro compromisso|tenho um compromisso|ja tenho compromisso|vou viajar",
        stays: "estou|estamos|estarei|estaremos|vou estar|vamos estar|vou|vamos|fico|ficamos",
        places: "de ferias|de viagem|em viagem|ocupado|ocupada|ocupados|ocupadas|viajando|a viajar|trabalhando|a trabalhar|no exterior|\
                 no estrangeiro|ausente|de licenca|de baixa",
        clauses: "mas|porem|porque|pois|entao|quando|se|enquanto",
        requests: "posso|podemos|poderia|queria|quero|queremos|gostaria|gostariamos|preciso|precisamos|por favor|desta vez|dessa vez",
        past_questions: "acidente|incidente|sinistro|roubo|compra|nascimento|aconteceu|acontecido|ocorreu|ocorrido|ultima|ultimo|anterior|comprou|pediu|recebeu|comecou|nasceu|desde quando",
        absence_topics: "ferias|viagem|viagens|viajar|viaja|ausencia|ausencias|ausente|licenca|baixa|fora|ocupado|ocupada",
    },
    MentionWords {
        code: "hi",
        pasts: "था|थी|थे|थीं",
        has_plain_pasts: false,
        own: "मैं|मैंने|हम|हमने",
        last: "पिछला|पिछली|पिछले|आखिरी|अंतिम|पुराना|पुरानी|पुराने",
        last_times: "पिछली बार|आखिरी बार",
        comparisons: "जैसे|जैसा|जैसी",
        wishes: "सोच|सोचा|चाहता|चाहती|चाहते|चाहिए|इरादा",
        absences: "",
        stays: "हूँ|हूं|हैं|रहूँगा|रहूंगा|रहूँगी|रहूंगी|रहेंगे",
        places: "छुटटी पर|छुटटियों पर|बाहर|वयसत|विदेश|यातरा पर|सफर पर",
        clauses: "लेकिन|लेकीन|मगर|किंतु|परंतु|कयोंकि|इसलिए|जब|अगर|यदि",
        requests: "कया मैं|कृपया|मुझे",
        past_questions: "दुरघटना|हादसा|नुकसान|चोरी|जनम|हुआ|हुई|हुए|पिछला|पिछली|पिछले|आखिरी|कब से",
        absence_topics: "छुटटी|छुटटियां|छुटटियाँ|यातरा|सफर|बाहर|वयसत|विदेश",
    },
];

/// The words of a language; those of English for one that is not known.
pub(crate) fn mention_words(code: &str) -> &'static MentionWords {
    let [english, ..] = &ALL;
    ALL.iter().find(|it| it.code == code).unwrap_or(english)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::fold;

    #[test]
    fn words_are_folded() {
        for words in &ALL {
            for list in [
                words.pasts,
                words.own,
                words.last,
                words.last_times,
                words.comparisons,
                words.wishes,
                words.absences,
                words.stays,
                words.places,
                words.clauses,
                words.requests,
                words.past_questions,
                words.absence_topics,
            ] {
                for phrase in list.split('|') {
                    assert_eq!(fold(phrase), phrase, "{}", words.code);
                }
            }
        }
    }
}
