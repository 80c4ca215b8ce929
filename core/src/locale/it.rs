//! Italian.

use super::{Language, LocaleWords};

pub(super) static LANGUAGE: Language = Language {
    code: "it",
    words: LocaleWords {
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
        after_offset: "",
        units: "anni,anno|mesi,mese|settimane,settimana|giorni,giorno|ore,ora,h|minuti,minuto,min,m|secondi,secondo,sec,s",
        yes: "si,certo,certo che si,certamente,ok,okay,esatto,corretto,giusto,va bene,volentieri,daccordo,d accordo,assolutamente,\
              assolutamente si,vero,perche no,nessun problema",
        no: "no,mai,falso,sbagliato,per niente,assolutamente no,certo che no,va bene no",
        not: "non",
        unsure: "non so,non lo so,non sono sicuro,non sono sicura,forse",
        whole_text_only: ["1,s", "0,n"],
        numbers: None,
    },
    texts: None,
};
