package demo

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Table is the output of a program.
type Table struct {
	Columns []string // in upper case
	Wide    []string // columns that only -o wide, csv and json show
	Rows    [][]string
	Records any // the output of -o json without --columns; nil means one object per row
}

// Add adds a row with one cell per column.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = strings.Join(strings.Fields(fmt.Sprint(cell)), " ") // on one line
	}
	t.Rows = append(t.Rows, row)
}

// Output is the format of a [Table]. The zero value is a table for people.
type Output struct {
	format   string
	noHeader bool
	columns  []string // nil for the default columns
}

// Output adds the flags for the format of a table. The user can choose from the
// given columns.
func (f *Flags) Output(columns []string) *Output {
	o := &Output{}
	f.Func("o", "`format` of the list: table (the default), wide, json or csv", o.setFormat)
	f.BoolVar(&o.noHeader, "no-header", false, "omit the line with the names of the columns")
	f.Func("columns", "`names` of the columns to list: "+strings.ToLower(strings.Join(columns, ",")), func(names string) error {
		o.columns = nil
		for name := range strings.SplitSeq(strings.ToUpper(names), ",") {
			if !slices.Contains(columns, name) {
				return fmt.Errorf("there is no column %q", strings.ToLower(name))
			}
			o.columns = append(o.columns, name)
		}
		return nil
	})
	return o
}

func (o *Output) setFormat(format string) error {
	if !slices.Contains([]string{"table", "wide", "json", "csv"}, format) {
		return fmt.Errorf("unknown format %q: use table, wide, json or csv", format)
	}
	o.format = format
	return nil
}

// Write writes the table. In a terminal it cuts the lines of the default format
// to the width.
func (o *Output) Write(w io.Writer, t *Table) error {
	header, rows := o.chosenColumns(t)
	switch o.format {
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		if t.Records != nil && o.columns == nil {
			return encoder.Encode(t.Records)
		}
		return encoder.Encode(rowObjects(header, rows))
	case "csv":
		return o.writeCSV(w, header, rows)
	case "wide":
		return o.writeText(w, header, rows, 0)
	}
	return o.writeText(w, header, rows, Width(w))
}

func (o *Output) chosenColumns(t *Table) (header []string, rows [][]string) {
	header = o.columns
	if header == nil {
		short := o.format == "" || o.format == "table"
		header = slices.DeleteFunc(slices.Clone(t.Columns), func(name string) bool { return short && slices.Contains(t.Wide, name) })
	}
	for _, row := range t.Rows {
		var cells []string
		for _, name := range header {
			cells = append(cells, row[slices.Index(t.Columns, name)])
		}
		rows = append(rows, cells)
	}
	return header, rows
}

func (o *Output) writeCSV(w io.Writer, header []string, rows [][]string) error {
	out := csv.NewWriter(w)
	if !o.noHeader {
		rows = slices.Insert(rows, 0, header)
	}
	return out.WriteAll(rows)
}

func rowObjects(header []string, rows [][]string) []map[string]string {
	all := make([]map[string]string, len(rows))
	for i, row := range rows {
		all[i] = map[string]string{}
		for j, cell := range row {
			all[i][strings.ToLower(header[j])] = cell
		}
	}
	return all
}

// writeText writes columns with two spaces between them, in lines of at most
// limit characters, or of any length if limit is 0.
func (o *Output) writeText(w io.Writer, header []string, rows [][]string, limit int) error {
	const between = "  "
	if !o.noHeader {
		rows = slices.Insert(rows, 0, header)
	}
	widths := make([]int, len(header))
	for _, row := range rows {
		for i, cell := range row {
			cell = Visible(cell)
			row[i] = cell
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	shrink(widths, limit-len(between)*(len(header)-1), limit > 0)
	var b strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(between)
			}
			fmt.Fprintf(&line, "%-*s", widths[i], cut(cell, widths[i]))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shrink reduces the widest columns until the line fits.
func shrink(widths []int, limit int, limited bool) {
	total := 0
	for _, width := range widths {
		total += width
	}
	for ; limited && total > max(limit, len(widths)); total-- {
		widths[slices.Index(widths, slices.Max(widths))]--
	}
}

func cut(text string, width int) string {
	if runes := []rune(text); len(runes) > width {
		return string(runes[:max(width-1, 0)]) + "…"
	}
	return text
}
