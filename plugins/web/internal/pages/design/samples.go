package design

// long is a name as some are.
const long = "A conversation with a name that is a good deal longer than most names of conversations are, so that it has to be cut somewhere"

const (
	before = "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hello\")\n}\n"
	after  = "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() {\n\tfmt.Fprintln(os.Stderr, \"hello, مرحبا, 你好\")\n}\n"
)

// sample is what an agent may write.
const sample = "# A heading of a message\n\n" +
	"Words with **weight**, *stress*, `code`, ~~what is over~~ and [a link](https://example.org). A second sentence makes the line long enough to be broken, so that its length and height can be judged.\n\n" +
	"## A smaller one\n\n- a list\n- of things\n  - with one beneath\n- [ ] to do\n- [x] done\n\n1. first\n2. second\n\n" +
	"> A quote, of somebody who said more than fits on one line of a phone.\n\n" +
	"| Name | Kind | Cost |\n|---|:-:|---:|\n| Plans for the summer | message | $1.20 |\n| مراجعة العقد | turn | $12.40 |\n| 把每周的报告整理成一页 | task | $0.04 |\n\n" +
	"```go\n// Register adds the pages to the site.\nfunc Register(s *site.Site) error {\n\tconst perPage = 50\n\tif len(s.Name) > perPage || s.Old {\n\t\treturn fmt.Errorf(\"%q is too long\", s.Name)\n\t}\n\treturn nil\n}\n```\n\n" +
	"```python\n@cache\ndef total(rows: list[Row], tax=0.19) -> float:\n    \"\"\"The sum, with tax.\"\"\"\n    return sum(r.cost for r in rows if r.cost is not None) * (1 + tax)  # rounded later\n```\n\n" +
	"```sh\n$ rg -n 'func Register' --type go | sort | head -40 && go test ./... -run TestEverythingThatMatters -count=1 -timeout 120s\n```\n\n" +
	"```json\n{\"name\": \"harness\", \"plugins\": [\"time\", \"web\"], \"port\": 3001, \"debug\": false}\n```\n\n" +
	"```diff\n--- a/main.go\n+++ b/main.go\n@@ -1,3 +1,3 @@\n-\tfmt.Println(\"hello\")\n+\tfmt.Fprintln(os.Stderr, \"hello\")\n```\n\n" +
	"مرحبا، هذه فقرة بالعربية تُكتب من اليمين إلى اليسار.\n\n<div>HTML is shown as it is written, and wraps where the line is longer than the page: it is text like any other, and never markup of ours.</div>\n"
