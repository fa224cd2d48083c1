package heard

import (
	"strings"
	"sync"
	"time"
)

// setOf is the words of a text.
func setOf(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		all := make(map[string]bool)
		for _, word := range strings.Fields(text) {
			all[word] = true
		}
		return all
	})
}

// framing are words that notes of all kinds have, in English, German, French and Spanish, folded: they say nothing by themselves.
var framing = setOf(`
	about again all also always and any anymore anyone are ask asked asks ask been before being both but can currently could did does doing
	done during each else ever every everyone for from gave gets getting give given gives going gone got had has have having her hers herself
	him himself his how into its itself just keep keeps know known knows later let like liked likes made make makes making many may maybe me
	mention mentioned mentions might more most much must named name need needed needs never new nor not note noted notes now off often once
	one only other our ours out over own owner people person plan planned planning plans prefer preference preferences preferred prefers
	really remember reminded remind reminder said same say saying says set she should since some someone something still such than that the
	their theirs them themselves then there these they thing things this those through too under until upon usage use used user users uses
	using usually very want wanted wants was way went were what when where whether which while who whom whose why will wish wishes with
	within without would yes yet you your yours dislike dislikes disliked love loves hate hates enjoy enjoys favourite favorite called goes
	scheduled schedule appointment phone telephone number email mail address took take takes takes place calls call tell told tells time date day fact facts at by he if in is it my of
	on or so to up us we an as be do go am no pm st nd rd th i a m s t d ll re ve kg km cm mm
	der die das den dem des ein eine einen einem einer eines und oder ist sind war waren hat haben hatte wird werden mit nicht fur von vom zum
	zur auf aus bei nach uber unter auch noch nur sich er sie es wir ihr ich mich mir sein seine seinen ihre ihren mein meine meinen wenn dass
	dann hier dort sehr mehr kein keine mag will soll muss kann nutzer benutzer besitzer person mochte bevorzugt sagt sagte uhr im am um zu
	le la les un une des du de et ou est sont etait dans sur pour par avec sans pas plus que qui il elle ils elles son sa ses mon ma mes leur
	au aux ce cette utilisateur prefere veut aime el los las una unos unas y o es son era en con sin no mas que su sus mi mis para por del al
	usuario prefiere quiere le lo se ha tiene gusta
`)

// numeralWords are small numbers in words.
const numeralWords = `one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12
	eins=1 ein=1 eine=1 zwei=2 drei=3 vier=4 funf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwolf=12
	un=1 une=1 deux=2 trois=3 quatre=4 cinq=5 sept=7 huit=8 neuf=9 dix=10 onze=11 douze=12
	uno=1 una=1 dos=2 tres=3 cuatro=4 cinco=5 seis=6 siete=7 ocho=8 nueve=9 diez=10 once=11 doce=12`

var numerals = mapOf(numeralWords, func(value string) string { return value })

// monthWords are the months by their names.
const monthWords = `january=1 february=2 march=3 april=4 may=5 june=6 july=7 august=8 september=9 october=10 november=11 december=12
	jan=1 feb=2 mar=3 apr=4 jun=6 jul=7 aug=8 sep=9 sept=9 oct=10 okt=10 nov=11 dec=12 dez=12
	januar=1 februar=2 marz=3 mai=5 juni=6 juli=7 oktober=10 dezember=12
	janvier=1 fevrier=2 mars=3 avril=4 juin=6 juillet=7 aout=8 septembre=9 octobre=10 novembre=11 decembre=12
	enero=1 febrero=2 marzo=3 abril=4 mayo=5 junio=6 julio=7 agosto=8 septiembre=9 octubre=10 noviembre=11 diciembre=12`

const monthPattern = `january|february|march|april|may|june|july|august|september|october|november|december|` +
	`jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|okt|nov|dec|dez|januar|februar|marz|mai|juni|juli|oktober|dezember|` +
	`janvier|fevrier|mars|avril|juin|juillet|aout|septembre|octobre|novembre|decembre|` +
	`enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre`

var months = mapOf(monthWords, atoi)

// weekdayWords are the days of the week, from Sunday on.
const weekdayWords = `sunday=0 monday=1 tuesday=2 wednesday=3 thursday=4 friday=5 saturday=6 sun=0 mon=1 tue=2 tues=2 wed=3 thu=4 thur=4 thurs=4 fri=5 sat=6
	sonntag=0 montag=1 dienstag=2 mittwoch=3 donnerstag=4 freitag=5 samstag=6 sonnabend=6
	dimanche=0 lundi=1 mardi=2 mercredi=3 jeudi=4 vendredi=5 samedi=6
	domingo=0 lunes=1 martes=2 miercoles=3 jueves=4 viernes=5 sabado=6`

var weekdays = mapOf(weekdayWords, func(value string) time.Weekday { return time.Weekday(atoi(value)) })

// relativeWords are days from the one on which they are said.
const relativeWords = `today=0 tonight=0 now=0 tomorrow=1 yesterday=-1 heute=0 morgen=1 gestern=-1 ubermorgen=2 aujourd=0 demain=1 hier=-1 hoy=0 manana=1 ayer=-1`

var relativeDays = mapOf(relativeWords, atoi)

// mapOf reads words that have a value each.
func mapOf[V any](text string, value func(string) V) func() map[string]V {
	return sync.OnceValue(func() map[string]V {
		all := make(map[string]V)
		for _, pair := range strings.Fields(text) {
			word, is, _ := strings.Cut(pair, "=")
			all[word] = value(is)
		}
		return all
	})
}
