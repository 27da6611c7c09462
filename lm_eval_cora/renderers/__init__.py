"""What views compute -> a page, charts as SVG, PDF and PNG, and Markdown."""
