package markdown

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-706843ae/harness/plugins/web/internal/markdown/lexers"
)

const (
	outside = ` rel="noopener noreferrer nofollow" target="_blank"`
	code    = `<div class="code"><div class="code-head"><span class="code-lang">%s</span><button type="button" class="code-copy" data-copy hidden>Copy</button></div>` +
		`<pre tabindex="0" role="group" aria-label="%s"><code class="chroma">%s</code></pre></div>` + "\n"
)

func TestHTML(t *testing.T) {
	block := func(info, label, text string) string { return fmt.Sprintf(code, info, label, text) }
	for _, test := range []struct{ name, message, want string }{
		{"nothing", "", ""},
		{"words", "Hello, *you* **there** ~~not~~ `x<y`", "<p>Hello, <em>you</em> <strong>there</strong> <del>not</del> <code>x&lt;y</code></p>\n"},
		{"a line break is one", "a\nb", "<p>a<br>\nb</p>\n"},
		{"headings are below the page's own", "# a\n## b\n#### c\n###### d", "<h3>a</h3>\n<h4>b</h4>\n<h6>c</h6>\n<h6>d</h6>\n"},
		{"headings have no names", "# a {#b}", "<h3>a {#b}</h3>\n"},
		{"a number is kept", "3. a\n4. b", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		{"tasks", "- [x] a\n- [ ] b", `<ul>` + "\n" + `<li><span class="task" role="img" aria-label="Done">☑</span> a</li>` + "\n" +
			`<li><span class="task" role="img" aria-label="To do">☐</span> b</li>` + "\n</ul>\n"},
		{"a table", "|a|b|c|\n|-|-:|:-:|\n|1|2|3|", `<div class="table-scroll" tabindex="0" role="region" aria-label="Table"><table>` + "\n" +
			`<thead><tr><th scope="col">a</th><th scope="col" class="right">b</th><th scope="col" class="center">c</th></tr></thead>` + "\n<tbody>\n" +
			`<tr><td>1</td><td class="right">2</td><td class="center">3</td></tr>` + "\n</tbody>\n</table></div>\n"},
		{"a table without rows", "|a|\n|-|", `<div class="table-scroll" tabindex="0" role="region" aria-label="Table"><table>` + "\n" +
			`<thead><tr><th scope="col">a</th></tr></thead>` + "\n</table></div>\n"},
		{"a table that would hide a cell", "|a|\n|-|\n|1|2|", "<pre class=\"plain\">|a|\n|-|\n|1|2|</pre>\n"},
		{"a table that is mostly not there", "|a|b|c|d|\n|-|-|-|-|\n" + strings.Repeat("|\n", 20), "<pre class=\"plain\">|a|b|c|d|\n|-|-|-|-|\n" + strings.Repeat("|\n", 20) + "</pre>\n"},

		{"an element", "a <b x='*y*'>c</b> <!-- d -->", "<p>a &lt;b x=&#39;*y*&#39;&gt;c&lt;/b&gt; &lt;!-- d --&gt;</p>\n"},
		{"a block of HTML", "<div>\n  *a*\n</div>\n\nb", "<pre class=\"plain\">&lt;div&gt;\n  *a*\n&lt;/div&gt;\n</pre>\n<p>b</p>\n"},
		{"a script, to its end", "<script>\n\na\n</script>\nb", "<pre class=\"plain\">&lt;script&gt;\n\na\n&lt;/script&gt;\n</pre>\n<p>b</p>\n"},
		{"characters", "&lt; &amp;copy; &copy; \\<\x00\xff", "<p>&lt; &amp;copy; © &lt;��</p>\n"},

		{"a link", `[a *b*](https://x.org/?a=b&c "t")`, `<p><a href="https://x.org/?a=b&amp;c" title="t"` + outside + ">a <em>b</em></a></p>\n"},
		{"a link by mail", "[a](mailto:b@x.org)", "<p><a href=\"mailto:b@x.org\">a</a></p>\n"},
		{"addresses", "see https://x.org/a_b_c, www.x.org. or b@x.org", `<p>see <a href="https://x.org/a_b_c"` + outside + `>https://x.org/a_b_c</a>, <a href="http://www.x.org"` + outside +
			`>www.x.org</a>. or <a href="mailto:b@x.org">b@x.org</a></p>` + "\n"},
		{"addresses of this machine", "(http://localhost:8080/x) http://127.0.0.1:3001", `<p>(<a href="http://localhost:8080/x"` + outside + `>http://localhost:8080/x</a>) <a href="http://127.0.0.1:3001"` +
			outside + ">http://127.0.0.1:3001</a></p>\n"},
		{"a link to a file", "[main](src/main.go) [src/main.go](src/main.go)", "<p>main (<code>src/main.go</code>) src/main.go</p>\n"},
		{"a link to a place", `[a](#b "c")`, "<p>a (<code>#b</code> c)</p>\n"},
		{"a link that runs", "[a](javascript&colon;b) <javascript:c>", "<p>a (<code>javascript:b</code>) javascript:c</p>\n"},
		{"a link that looks like another", "[a](javascript:\u202eb\u200b) [a](<java\tscript:b>)", "<p>a (<code>javascript:%E2%80%AEb%E2%80%8B</code>) a (<code>java%09script:b</code>)</p>\n"},
		{"a link of no words", "[](https://x.org)", `<p><a href="https://x.org"` + outside + ">https://x.org</a></p>\n"},
		{"a link in another", "[![a](https://x.org/i)](https://x.org)", `<p><a href="https://x.org"` + outside + ">a (<code>https://x.org/i</code>)</a></p>\n"},
		{"a long link", "[a](https://x.org/" + strings.Repeat("b", mostAddress) + ")", "<p>a (<code>https://x.org/" + strings.Repeat("b", mostAddress-14) + "…</code>)</p>\n"},
		{"an image", "![a](https://x.org/i.png) ![](i.png)", `<p><a href="https://x.org/i.png"` + outside + ">a</a>  (<code>i.png</code>)</p>\n"},
		{"a link that is defined", "[a][b]\n\n[B]: https://x.org", `<p><a href="https://x.org"` + outside + ">a</a></p>\n"},
		{"definitions that are text", "[note]: hello\n\n[1]: https://x.org 'c'", `<p>[note]: hello</p>` + "\n" + `<p>[1]: <a href="https://x.org"` + outside + ">https://x.org</a> c</p>\n"},

		{"code", "```go\nreturn \"<\" + f(1) // x\n```", block("go", "Code: go", `<span class="k">return</span> <span class="s">&#34;&lt;&#34;</span> <span class="o">+</span> <span class="n">f</span>(<span class="m">1</span>) <span class="c">// x</span>
`)},
		{"a diff", "```diff\n-a\n+b\n```", block("diff", "Code: diff", "<span class=\"gd\">-a\n</span><span class=\"gi\">+b\n</span>")},
		{"code of no language", "    a\n\n```\nreturn\n```", block("", "Code", "a\n") + block("", "Code", "return\n")},
		{"code of an unknown one", "```<b x=\"y\n&\n```", block("&lt;b x=&#34;y", "Code: &lt;b", "&amp;\n")},
		{"code with more said of it", "```json a.json\n1\n```", block("json a.json", "Code: json", "<span class=\"m\">1</span>\n")},
		{"code that does not end", "```sh\nls", block("sh", "Code: sh", "ls\n")},
	} {
		if got := HTML(test.message); got != test.want {
			t.Errorf("%s:\n%s, not\n%s", test.name, got, test.want)
		}
	}
}

// What people copy from the page is the code, to the last space.
func TestCodeIsWhatItWas(t *testing.T) {
	text := "\tif a {\r\n  'ä\u202e' \"unended `x` ${y} <b> &amp;\n\n/* x */ # y -- z <?php 1.5e3 @a\n\t\n" + strings.Repeat("é(\"x\")[1]\n", 50)
	for _, language := range []string{"", "bash", "bash-session", "c", "c#", "c++", "clojure", "css", "dart", "diff", "docker", "elixir", "erlang", "go", "graphql",
		"groovy", "haskell", "html", "ini", "java", "javascript", "json", "kotlin", "lua", "makefile", "nginx", "nix", "ocaml", "perl", "php", "powershell",
		"protobuf", "python", "r", "jsx", "ruby", "rust", "scala", "scss", "sql", "swift", "terraform", "toml", "typescript", "xml", "yaml", "zig"} {
		if language != "" && lexers.Find(language) == nil {
			t.Errorf("%s is not coloured", language)
		}
		page := HTML("````" + language + "\n" + text + "````")
		if faults, read := faults(page); len(faults) > 0 || !strings.Contains(strings.ReplaceAll(read, " ", ""), strings.NewReplacer("\r\n", "\n", " ", "").Replace(text)) {
			t.Errorf("%s: %v: %q", language, faults, read)
		}
	}
}

// Colours are for code that people read.
func TestLongCodeIsBlack(t *testing.T) {
	line := "return 1\n"
	page := HTML("```go\n" + strings.Repeat(line, mostColoured/len(line)+1) + "```\n\n```go\n" + line + "```")
	if strings.Count(page, "<span class=\"k\">") != 1 {
		t.Errorf("%d lines are coloured", strings.Count(page, "<span class=\"k\">"))
	}
	half := "```go\n" + strings.Repeat(line, mostColoured*2/3/len(line)) + "```\n\n"
	if page := HTML(half + half); !strings.Contains(page, `<span class="k">`) || !strings.Contains(page, ">return 1\n") {
		t.Error("two blocks have not the room of one")
	}
}

// A long text is shown, if only as it is.
func TestTextThatIsNotRead(t *testing.T) {
	for name, message := range map[string]string{
		"long": strings.Repeat("*a* ", mostText/4) + "&", "deep": strings.Repeat("> ", mostDepth+1) + "*a*", "deep lists": strings.Repeat("- ", mostDepth+1) + "*a*",
		"far": strings.Repeat("  ", mostDepth+1) + "- *a*", "heading": "# " + strings.Repeat("*_", mostMarks),
	} {
		if page := HTML(message); strings.Count(page, "<") != 2 || !strings.HasPrefix(page, `<pre class="plain">`) {
			t.Errorf("%s: it is shown as %.200s", name, page)
		}
	}
	page := HTML("*a*\n\n" + strings.Repeat("*_", mostMarks) + "\n\n*b*")
	if !strings.HasPrefix(page, "<p><em>a</em></p>\n<pre class=\"plain\">*_*_") || !strings.HasSuffix(page, "</pre>\n<p><em>b</em></p>\n") {
		t.Errorf("a paragraph is not shown as it is alone: %.100s", page)
	}
	if page := HTML("[a]: " + strings.Repeat("b", 20000) + "\n\n" + strings.Repeat("[a] ", 700)); len(page) > mostOutput(25000) {
		t.Errorf("%d bytes are made of 25,000", len(page))
	}
}

// Many pages are made at a time.
func TestAtATime(t *testing.T) {
	message, err := os.ReadFile("../../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	want := HTML(string(message[:20000]))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if HTML(string(message[:20000])) != want {
				t.Error("two pages differ")
			}
		})
	}
	all.Wait()
}

// slow are texts of a size that readers of Markdown are slow with, by what is repeated in them.
func slow(size int) map[string]string {
	texts := make(map[string]string)
	for _, repeated := range []string{
		"[", "]", "*", "<", ">", "1. ", "#", "|", "|\n", "![", "[](", "[a](", "[a][", "<!--", "<?", "a@", "www.", "http://a.b/", "**a ", "[x]: u\n", "[x]\n", "``` \n",
		"- a\n", "a  \n", "a\n===\n", "<div>\n", "&#x", "*a_", "a*b_", "*a_a\n\n", "`` ` ", "[a](<", "<a b=\"", "> - ", "1. > ", "# *a_", "- a\n\n\n",
		"```go\nfunc(){}\n```\n", "```c\n/*\n```\n", "|a|b|c|d|e|f|g|h|i|j|\n|-|-|-|-|-|-|-|-|-|-|\n|\n|\n|\n\n",
	} {
		texts[repeated] = strings.Repeat(repeated, size/len(repeated))
		// As many as are read together, again and again.
		if marks := marksIn(repeated); marks > 1 {
			part := strings.Repeat(repeated, mostMarks/marks) + "\n\n"
			texts[repeated+", in parts"] = strings.Repeat(part, size/len(part))
		}
	}
	columns, rows := size/6, mostLines-10
	texts["a wide table"] = strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n" + strings.Repeat("|\n", rows)
	texts["references"] = "[a]: http://x/" + strings.Repeat("u", size/2) + "\n\n" + strings.Repeat("[a]", size/6)
	texts["brackets"] = strings.Repeat("[", size/2) + strings.Repeat("]", size/2)
	texts["a deep quote"] = strings.Repeat(">", size/2) + strings.Repeat("\n>a", size/6)
	deep := strings.Repeat(">", mostDepth) + "\n"
	texts["quotes as deep as they may be"] = strings.Repeat(deep, size/len(deep))
	deep = strings.Repeat("- ", mostDepth) + "a\n"
	texts["lists as deep as they may be"] = strings.Repeat(deep, size/len(deep))
	var ticks, indented strings.Builder
	for i := 1; ticks.Len()+i+1 < size; i++ {
		ticks.WriteString("e" + strings.Repeat("`", i))
	}
	for i := 0; indented.Len()+2*i+4 < size; i++ {
		indented.WriteString(strings.Repeat("  ", i%(mostDepth+1)) + "- a\n")
	}
	texts["ticks"], texts["lists further and further in"] = ticks.String(), indented.String()
	return texts
}

// One message must not stop the page for everybody. The slowest of these take a tenth of a second;
// without bounds they take from four seconds to minutes. Counted is the time at work, since
// others use the machine too; on a busy one, with the race detector, that is thirty times as
// much.
func TestNoTextIsSlow(t *testing.T) {
	work := func() time.Duration {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			t.Fatal(err)
		}
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	for name, message := range slow(mostText / 2) {
		start := work()
		HTML(message)
		if took := work() - start; took > 10*time.Second {
			t.Errorf("%.50q: it takes %v", name, took)
		}
	}
}

func BenchmarkHTML(b *testing.B) {
	message, err := os.ReadFile("../../../../docs/http-api.md")
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{1 << 10, 16 << 10, 64 << 10} {
		text := string(message[:min(size, len(message))])
		b.Run(fmt.Sprintf("document of %d KiB", len(text)>>10), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				HTML(text)
			}
		})
	}
	for name, message := range slow(mostText) {
		b.Run(fmt.Sprintf("%.20q", name), func(b *testing.B) {
			b.SetBytes(int64(len(message)))
			for b.Loop() {
				HTML(message)
			}
		})
	}
}
