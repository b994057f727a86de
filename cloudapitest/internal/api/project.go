package api

// Account is the owner of projects and tokens.
type Account struct{ ID, Name, Email string }

// NewAccount returns an account with an ID and an address.
func NewAccount(name string) *Account {
	return &Account{NewID("ac").String(), name, name + "@example.com"}
}

// Token is a personal access token.
type Token struct {
	Account *Account
}

// Project is a project of an account. All other resources are in a project.
type Project struct {
	Object
	Account     *Account
	Permissions map[*Token]Permissions // a token that isn't in the map has no permissions
	Unpaid      bool                   // whether valid billing information is missing
	Features    []string
	log         []LogEntry
	logged      *Moment // the moment of the last entry in log
}

// Project returns the project with the ID, or nil.
func (s *State) Project(id string) *Project {
	p, _ := s.ByID[id].(*Project)
	return p
}
